"""A Spark application with Delta, in the process that spark-submit has started.

Confs of the submission have precedence over those set here, but Delta's extension is always added.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, translated
from airflow_refresh_provider.spark.server.jars import PACKAGE
from airflow_refresh_provider.spark.server.launch import DELTA_CONFS, Home
from airflow_refresh_provider.spark.server.process import try_lock

_CONFS = {**DELTA_CONFS, "spark.log.level": "WARN"}
_EXTENSIONS = "spark.sql.extensions"
_DELTA = DELTA_CONFS[_EXTENSIONS]
_CONNECT_VARIABLES = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")


@contextmanager
def application() -> Iterator[SparkSession]:
    """The application of this process, stopped at the end of the block."""
    # With these variables, possibly of the submitting environment, pyspark would look for a Spark Connect server.
    for variable in _CONNECT_VARIABLES:
        os.environ.pop(variable, None)
    with translated(Doing(left="Nothing was changed.")):
        given = {key: SparkContext.getSystemProperty(key) for key in _CONFS}
        for key, value in confs(given).items():
            SparkContext.setSystemProperty(key, value)
        builder: SparkSession.Builder = SparkSession.builder
        spark = builder.getOrCreate()
    try:
        _check_delta(spark)
        yield spark
    finally:
        with suppress(*SPARK_ERRORS):  # the JVM may have ended already
            spark.stop()


@contextmanager
def sole_kind_of_writer(home: Path) -> Iterator[None]:
    """Inside the block no embedded server of the folder can be started. Raises Refused when one runs.

    Commits of two JVMs on one disk can overwrite each other. Several applications are allowed: each holds the lease of
    the target that it writes.
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
    """The confs of an application, `given` those of its submission."""
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
