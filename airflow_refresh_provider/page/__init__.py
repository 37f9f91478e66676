"""The page: what is known of all refreshes, shown in a browser and as JSON. It starts no Spark."""
