"""Holding a run: leases, take-over, fences, and how a run ends without being published."""
