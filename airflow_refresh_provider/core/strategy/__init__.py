"""Which inputs a refresh reads as changes, and which it reads whole."""
