"""Kinds of inputs: one module for each format, which finds, pins, checks and watches inputs of it without Spark."""
