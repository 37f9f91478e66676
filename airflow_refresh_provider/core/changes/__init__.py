"""Inputs at pinned versions: what changed between two of them, and how the changed rows can be read."""
