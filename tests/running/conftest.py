"""One Airflow for all tests of this folder: PostgreSQL, every component a process, tasks in processes of their own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.lake import Lake
from examples.local_airflow import ALL, LocalAirflow, free_port
from examples.processes import MARK
from tests.running.postgres import database
from tests.running.table import Table

_SETTINGS = {
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__PARALLELISM": "8",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "2",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "1",
    "AIRFLOW__REFRESH__POLL_INTERVAL": "1",
    "AIRFLOW__REFRESH__RETRY_DELAY": "1",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "12",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
    "AIRFLOW__WORKERS__SOCKET_CLEANUP_TIMEOUT": "5",
}


@dataclass(frozen=True)
class Site:
    """The Airflow and the folder of its DAG files."""

    airflow: LocalAirflow
    dags: Path


class _Running:
    """The Airflow of this folder's tests, from the first of them to the last: it is no load to those that follow."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._site: Site | None = None

    def site(self, folders: pytest.TempPathFactory) -> Site:
        if self._site is None:
            self._site = self._stack.enter_context(_started(folders.mktemp("site")))
        return self._site

    def stop(self) -> None:
        self._site = None
        self._stack.close()


_RUNNING = _Running()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """After the last test of this folder."""
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        _RUNNING.stop()


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return _RUNNING.site(tmp_path_factory)


@contextmanager
def _started(root: Path) -> Iterator[Site]:
    dags = root / "dags"
    dags.mkdir()
    with database() as url, _own_signals():
        settings = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url, MARK: str(root), **_SETTINGS}
        airflow = LocalAirflow(Lake(root), dags, free_port(), settings)
        try:
            airflow.start(ALL)
            assert airflow.await_ready() == []
            yield Site(airflow, dags)
        finally:
            airflow.stop()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Stopping Airflow makes its program deaf to signals; this one has more to do."""
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


@pytest.fixture
def table(site: Site, tmp_path: Path, spark_server: Endpoint) -> Iterator[Table]:
    """A loaded table whose input has changed since; its DAG is not there yet. Its name is no other test's."""
    name = tmp_path.name.removeprefix("test_")
    folder = tmp_path / name
    folder.mkdir()
    made = Table(site.airflow, site.dags, folder, spark_server.url)
    made.change()
    yield made
    made.release()
    (site.dags / f"{name}.py").unlink(missing_ok=True)
