"""Sensors: waiting for what the control tables say."""
