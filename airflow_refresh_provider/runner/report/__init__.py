"""Reports: progress, history, freshness, comparison."""
