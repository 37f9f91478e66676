"""For spark-submit: one whole refresh as a Spark application. See docs/spark_apps.md."""

import sys

from airflow_refresh_provider.spark_apps.refresh import main

if __name__ == "__main__":
    sys.exit(main())
