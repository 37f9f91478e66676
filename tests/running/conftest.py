"""One Airflow for all tests of this folder: PostgreSQL, every component a process, tasks in processes of their own."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.lake import Lake
from examples.local_airflow import ALL, CONNECTION, LocalAirflow, free_port
from examples.processes import MARK
from examples.rest import USER
from tests.browsing import axe as axe
from tests.browsing import chromium as chromium
from tests.running.postgres import database
from tests.running.table import ONE_TASK, PHASED, ROWS, Table
from tests.running.visitor import Visitor

VIEWER = "vera"
"""May see everything, and change nothing."""
_MANY = 40
"""Rows, three quarters of which change: a chunk each."""
_SETTINGS = {
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__PARALLELISM": "8",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin,{VIEWER}:viewer",
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


@pytest.fixture
def paged(site: Site, tmp_path: Path, spark_server: Endpoint) -> Iterator[Table]:
    """A loaded table with a DAG, whose control tables are those that the page reads. Its input has changed since."""
    yield from _paged(site, tmp_path, spark_server)


@pytest.fixture
def large(site: Site, tmp_path: Path, spark_server: Endpoint) -> Iterator[Table]:
    """The same with far more chunks."""
    yield from _paged(site, tmp_path, spark_server, rows=_MANY)


@pytest.fixture
def single(site: Site, tmp_path: Path, spark_server: Endpoint) -> Iterator[Table]:
    """The one with few chunks, refreshed in one task."""
    yield from _paged(site, tmp_path, spark_server, tasks=ONE_TASK)


def _paged(site: Site, tmp_path: Path, spark: Endpoint, *, rows: int = ROWS, tasks: str = PHASED) -> Iterator[Table]:
    folder = tmp_path / tmp_path.name.removeprefix("test_")
    folder.mkdir()
    made = Table(site.airflow, site.dags, folder, spark.url, connection=CONNECTION, rows=rows)
    made.change()
    made.deploy("default_args={'retries': 0}", tasks=tasks)
    yield made
    for dag_id, run_id in site.airflow.rest.running():
        site.airflow.rest.fail(dag_id, run_id, "The test is over.")
    (site.dags / f"{made.name}.py").unlink(missing_ok=True)


@pytest.fixture
def visit(site: Site, chromium: Browser) -> Iterator[Callable[..., Visitor]]:
    """Signs users in, each with a browser of their own, which is closed afterwards."""
    yield lambda user, **options: Visitor(chromium, site.airflow, user, **options)
    for context in chromium.contexts:
        context.close()
