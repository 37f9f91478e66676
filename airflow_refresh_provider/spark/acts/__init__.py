"""The acts on data: one statement or a few, each in a session that the caller gives."""
