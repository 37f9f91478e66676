"""Everything that talks to Spark: sessions, the embedded server, and the acts on data."""
