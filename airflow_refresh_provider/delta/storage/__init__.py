"""Object stores and local disks, and the JSON files of a Delta log."""
