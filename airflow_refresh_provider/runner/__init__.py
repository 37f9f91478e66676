"""The only place that orders I/O: reads facts through ports, asks core what they mean, and acts.

`refreshes.Refreshes` is the entry point. Each phase of a refresh has a module in `steps`, in the order in which they
run: `start`, `load`, `merge`, `finish`; `hold.takeover` is how another owner continues.
"""
