"""The driver of an embedded server in which a statement that has ended left a long job behind.

What Spark says at the end of that job is written beside the file that says that Spark is ready.
"""

from __future__ import annotations

import runpy
import sys
import threading
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.server import launch

_STATEMENT = ("user", "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")


def _left_behind(session: SparkSession, end: Path) -> None:
    """Three hundred tasks of half a second."""
    java: Any = session.sparkContext._jvm
    session.sparkContext.addJobTag(java.org.apache.spark.sql.connect.service.ExecuteJobTag.apply(*_STATEMENT))
    try:
        session.range(0, 300, 1, 300).selectExpr("reflect('java.lang.Thread', 'sleep', 500L)").collect()
    except Py4JJavaError as error:
        end.write_text(str(error.java_exception), "utf-8")


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    end = Path(sys.argv[1]).with_name("end")
    threading.Thread(target=_left_behind, args=[session, end], daemon=True).start()
    runpy.run_path(str(launch.DRIVER), run_name="__main__")
