"""Text and stored values: what every other room of core writes and reads with."""
