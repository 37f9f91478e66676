"""Targets, inputs and staging: their Delta logs and files, read without Spark."""
