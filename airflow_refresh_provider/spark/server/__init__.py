"""The embedded Spark Connect server: its process, its jars, its log."""
