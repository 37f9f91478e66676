"""Spark sessions: opened, configured, released; what Spark's errors mean."""
