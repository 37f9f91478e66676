"""Definitions: the fields, their checks, and what is wrong with one in words."""
