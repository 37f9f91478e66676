"""The command line: `table` lists the commands, `main` parses, `perform` runs one command."""
