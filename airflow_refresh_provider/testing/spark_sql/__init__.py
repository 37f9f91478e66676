"""Spark SQL in memory: a query is translated for DuckDB, and run by it."""
