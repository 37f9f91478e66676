"""Plans: how a change set is cut into units and chunks, and how each chunk is applied."""
