"""What people see of results: tables, lines and durations, for every user interface."""
