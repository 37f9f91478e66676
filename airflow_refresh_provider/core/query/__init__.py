"""A query as text: parsed once, and what is known about it as data."""
