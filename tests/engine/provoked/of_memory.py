"""Errors of a driver that may not hold the results, and of tasks that have too little memory to work in."""

from __future__ import annotations

import os

from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
from tests.engine.acts import source
from tests.engine.provoked.bench import Bench, Provocation
from tests.engine.provoked.of_servers import server, session


def _with_delta() -> tuple[str, ...]:
    jars = ",".join(map(str, delta_jars(find(os.environ), os.environ)))
    return (
        f"spark.jars={jars}",
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
    )


def _with(conf: str) -> Provocation:
    """Look at the keys of a query on a server of its own, with this conf."""

    def provoke(bench: Bench) -> None:
        target = bench.target("id BIGINT, v BIGINT")
        with server(bench.folder, *_with_delta(), conf) as url, session(url) as spark:
            spark.check_keys(source("SELECT id, id AS v FROM range(4)", "id"), target)

    return provoke


PROVOKED: dict[str, Provocation] = {
    "memory.driver": _with("spark.driver.maxResultSize=1"),
    "memory.execution": _with("spark.memory.fraction=0.0001"),
}
"""The heap of a driver that is full is fatal in the server's JVM, which sends no message then."""
