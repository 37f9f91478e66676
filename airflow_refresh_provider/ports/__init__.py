"""What the runner needs from the world, as protocols; in-memory twins live beside them in `twins`."""
