"""Runs: the stored record, its states, owners, requests and results."""
