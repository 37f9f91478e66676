"""The driver of an embedded server that writes what its JVM keeps beside the file that says that Spark is ready."""

from __future__ import annotations

import json
import runpy
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.server import launch


def _report(session: SparkSession, report: Path) -> None:
    java: Any = session.sparkContext._jvm
    delta_logs = getattr(java, "org.apache.spark.sql.delta.DeltaLog$").__getattr__("MODULE$")
    jobs = session.sparkContext._jsc.sc().statusStore()
    draft = report.with_suffix(".draft")
    while True:
        draft.write_text(json.dumps({"logs": delta_logs.cacheSize(), "jobs": jobs.jobsList(None).size()}), "utf-8")
        draft.replace(report)
        time.sleep(0.2)


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    threading.Thread(target=_report, args=[session, Path(sys.argv[1]).with_name("kept.json")], daemon=True).start()
    runpy.run_path(str(launch.DRIVER), run_name="__main__")
