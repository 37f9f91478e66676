"""Administration: registering, pausing, dropping, recovering, and cascades of definitions."""
