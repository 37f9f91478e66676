"""The control tables on delta-rs."""
