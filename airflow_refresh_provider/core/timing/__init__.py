"""When a refresh is due, and in which order definitions refresh."""
