"""The command line: `table` says what commands there are, `main` is the door, `perform` runs one command."""
