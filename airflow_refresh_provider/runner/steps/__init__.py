"""The steps of a run in their order: start, load, merge, finish."""
