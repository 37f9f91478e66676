"""The only place that orders I/O: reads facts through ports, asks core what they mean, and acts.

`refreshes.Refreshes` is the door; each phase of a refresh has a module of its own, in the order in which they run:
`start`, `takeover`, `load`, `merge`, `finish`.
"""
