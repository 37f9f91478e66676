"""Decisions without I/O: what a refresh is, how it is planned, and what every fact about it means.

Nothing below this package reads a clock, a file, a random number or an environment variable.
"""
