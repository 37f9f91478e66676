"""Delta without Spark: the control tables on delta-rs, and the logs of targets and inputs read file by file."""
