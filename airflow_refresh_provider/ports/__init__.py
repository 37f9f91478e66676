"""What the runner needs from the world, as protocols; `memory_*` are their twins in memory, bundled by `twins`."""
