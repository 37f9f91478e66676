"""Errors that the Spark server, its session or the way to it is to blame for."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.tasks import Source, TargetSpec
from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.connect.endpoint import Endpoint, answers
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, translated
from airflow_refresh_provider.spark.connect.sessions import close, connect, release
from airflow_refresh_provider.spark.engine import SparkEngineSession
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
from tests.engine import plain_driver
from tests.engine.acts import source
from tests.engine.provoked.bench import Bench, Provocation

_TOKEN = "a-token"
_START_SECONDS = 120


@contextmanager
def server(folder: Path, *confs: str) -> Iterator[str]:
    """A server that wants a token. Gives its address without one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hidden = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = _TOKEN
    words = [sys.executable, plain_driver.__file__, str(port), *confs]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log)
    url = f"sc://localhost:{port}"
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not answers(Endpoint(url)):
            assert process.poll() is None and time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def session(url: str) -> Iterator[SparkEngineSession]:
    """A session on such a server."""
    spark = connect(Endpoint(f"{url}/;token={_TOKEN}"), str(uuid.uuid4()))
    try:
        yield SparkEngineSession(spark, StagingFolders())
    finally:
        close(spark)


def _without_delta(bench: Bench) -> None:
    query = bench.query("SELECT id FROM src")
    with server(bench.folder) as url, session(url) as opened:
        opened.describe(query)


def _without_confs(bench: Bench) -> None:
    query = bench.query("SELECT id FROM src")
    jars = ",".join(map(str, delta_jars(find(os.environ), os.environ)))
    with server(bench.folder, f"spark.jars={jars}") as url, session(url) as opened:
        opened.prepare(TargetSpec(location=str(bench.folder / "target"), columns=opened.describe(query)))


def _without_token(bench: Bench) -> None:
    with server(bench.folder) as url:
        connect(Endpoint(url), str(uuid.uuid4()))


def _plain_for_tls(bench: Bench) -> None:
    connect(Endpoint(f"{bench.endpoint.url}/;use_ssl=true"), str(uuid.uuid4()))


def _released(bench: Bench) -> None:
    session_id = str(uuid.uuid4())
    session = SparkEngineSession(connect(bench.endpoint, session_id), StagingFolders())
    release(bench.endpoint, session_id)
    session.describe(source("SELECT 1 AS id", "id"))


def _interrupted(bench: Bench) -> None:
    spark = connect(bench.endpoint, str(uuid.uuid4()))
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(0.5):
            spark.interruptAll()

    other = threading.Thread(target=interrupt)
    other.start()
    try:
        # Far longer than the half second after which it is interrupted.
        query = "SELECT a.id, sum(b.id) AS s FROM range(100000000) a CROSS JOIN range(10000) b GROUP BY a.id"
        SparkEngineSession(spark, StagingFolders()).check_keys(source(query, "s"), bench.target("id BIGINT, s BIGINT"))
    finally:
        ended.set()
        other.join()
        close(spark)


def _conflict(bench: Bench) -> None:
    """Two updates of one table race until one loses."""
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)")
    lost: list[RefreshError] = []

    def update() -> None:
        spark = connect(bench.endpoint, str(uuid.uuid4()))
        try:
            with translated(Doing(left="as it was", target=target.location)):
                spark.sql(f"UPDATE {sql.table(target.location)} SET v = v + 1").collect()
        except RefreshError as error:
            lost.append(error)
        finally:
            close(spark)

    for _ in range(20):
        racers = [threading.Thread(target=update) for _ in range(2)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        if lost:
            raise lost[0]


def _unreachable(bench: Bench) -> None:
    with contextlib.ExitStack() as running:
        url = running.enter_context(server(bench.folder))
        spark = connect(Endpoint(f"{url}/;token={_TOKEN}"), str(uuid.uuid4()))
    try:
        SparkEngineSession(spark, StagingFolders()).describe(Source(query="SELECT 1 AS id", reads={}, keys=("id",)))
    finally:
        with contextlib.suppress(*SPARK_ERRORS):
            close(spark)


PROVOKED: dict[str, Provocation] = {
    "server.no_delta": _without_delta,
    "server.no_delta_confs": _without_confs,
    "server.no_token": _without_token,
    "server.no_tls": _plain_for_tls,
    "server.stopped": _unreachable,
    "session.released": _released,
    "session.interrupted": _interrupted,
    "commit.conflict": _conflict,
}
