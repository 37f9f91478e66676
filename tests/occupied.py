"""A Spark server all of whose cores are taken, so that a statement waits there for as long as a test wants."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS
from airflow_refresh_provider.spark.connect.sessions import close, connect, release

_SLEEPS = "reflect('java.lang.Thread', 'sleep', 500L)"
_TASKS = 20_000
"""Of half a second each: for hours no other statement gets a core of the server, unless they are cancelled."""


@contextmanager
def busy(spark: str) -> Iterator[None]:
    """Inside the block all cores of the server are taken, so that any other statement waits."""
    session_id = str(uuid.uuid4())
    session = connect(Endpoint(spark), session_id)
    work = threading.Thread(target=_sleep, args=(session,), daemon=True)
    work.start()
    time.sleep(2)
    try:
        yield
    finally:
        release(Endpoint(spark), session_id)
        work.join(60)
        close(session)


def _sleep(session: SparkSession) -> None:
    with suppress(*SPARK_ERRORS):
        session.range(0, _TASKS, 1, _TASKS).selectExpr(_SLEEPS).collect()
