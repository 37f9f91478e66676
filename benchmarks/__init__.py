"""Speed of refreshes beside what one would do instead: an overwrite, and a stock MERGE. Run with `make bench`."""
