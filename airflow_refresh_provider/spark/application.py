"""A Spark application of our own: what spark-submit started becomes one that knows Delta, and ends in good order.

What the submission says outranks what is set here, but Delta's extension is always among the extensions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, translated
from airflow_refresh_provider.spark.server.jars import PACKAGE
from airflow_refresh_provider.spark.server.launch import DELTA_CONFS, Home
from airflow_refresh_provider.spark.server.os_lock import try_lock

_CONFS = {**DELTA_CONFS, "spark.log.level": "WARN"}
_EXTENSIONS = "spark.sql.extensions"
_DELTA = DELTA_CONFS[_EXTENSIONS]
_CONNECT_VARIABLES = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")


@contextmanager
def application() -> Iterator[SparkSession]:
    """The application of this process while the block lasts."""
    # With these, pyspark would look for a Spark Connect server; the submitting process may have them set.
    for variable in _CONNECT_VARIABLES:
        os.environ.pop(variable, None)
    with translated(left="Nothing was changed."):
        given = {key: SparkContext.getSystemProperty(key) for key in _CONFS}
        for key, value in confs(given).items():
            SparkContext.setSystemProperty(key, value)
        builder: SparkSession.Builder = SparkSession.builder
        spark = builder.getOrCreate()
    try:
        _check_delta(spark)
        yield spark
    finally:
        with suppress(*SPARK_ERRORS):  # its Java may be gone, and then there is nothing to stop
            spark.stop()


@contextmanager
def sole_kind_of_writer(home: Path) -> Iterator[None]:
    """While the block lasts no embedded server of the folder can be started. Raises Refused when there is one.

    Commits of two JVMs on one disk can overwrite each other. Applications do not shut each other out: each refreshes
    another target, or waits for the lease of its own.
    """
    home.mkdir(parents=True, exist_ok=True)
    lock = try_lock(Home(home).lock, shared=True)
    if lock is None:
        raise Refused(
            "embedded_server_runs",
            f"the embedded Spark server of {home} runs, and only one Spark may write tables on a local disk",
            next="Stop it with `airflow-refresh spark stop`, then run again.",
        )
    try:
        yield
    finally:
        os.close(lock)


def confs(given: Mapping[str, str | None]) -> dict[str, str]:
    """The confs of an application that was submitted with some of them."""
    wanted = {key: given.get(key) or ours for key, ours in _CONFS.items()}
    if _DELTA not in wanted[_EXTENSIONS].split(","):
        wanted[_EXTENSIONS] += f",{_DELTA}"
    return wanted


def _check_delta(spark: SparkSession) -> None:
    """Raise Failed when Delta's jars were not submitted with the application."""
    jvm = spark._jvm
    assert jvm is not None
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(_DELTA)
    except Py4JJavaError:
        raise Failed(
            "no_delta",
            "the Spark application was submitted without the jars of Delta",
            left="Nothing was changed.",
            next=f"Submit it with --packages {PACKAGE}, or with these jars in its image.",
        ) from None
