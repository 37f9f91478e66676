"""What holds for every test: nothing is left in the home folder, every kind has a time limit, files run in any order.

All tests share one Spark server, except those that harm theirs.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.sharing import session_folder, spark_endpoint

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

    from airflow_refresh_provider.spark.connect.endpoint import Endpoint

# Airflow reads it at its first import and writes below it.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-", dir=session_folder())
# No test finds places of this machine's user, or leaves a log in the home folder.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-", dir=session_folder())
for variable in ("AIRFLOW_REFRESH_CONTROL", "AIRFLOW_REFRESH_SPARK"):
    os.environ.pop(variable, None)
# Folders of tests are there too: commits to tables and to SQLite wait for no disk.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(session_folder()))

settings.register_profile("project", deadline=None)
settings.load_profile("project")

_LIMIT_SECONDS = {
    "running": 400,
    "crash": 400,
    "model": 180,
    "airflow": 240,
    "engine": 240,
    "cases": 240,
    "cli": 240,
    "browser": 120,
    "contract": 60,
    "architecture": 90,
    "unit": 30,
}
"""Time limits by folder, longest files first: so much that a busy machine does not reach them, and a hang does soon."""

_ONE_WORKER = ("running",)
"""Folders whose tests share something that exists once; elsewhere each file may run in another worker."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options: to show that tests do not depend on the order of their files; to record what real Spark raises."""
    parser.addoption("--shuffle-files", type=int, metavar="SEED", help="run the test files in a random order")
    parser.addoption("--record-spark-errors", action="store_true", help="store the facts of provoked errors of Spark")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first, so that all workers end at about the same time."""
    rank = {folder: at for at, folder in enumerate(_LIMIT_SECONDS)}
    items.sort(key=lambda item: rank[_folder(item)])
    seed = config.getoption("--shuffle-files")
    if seed is not None:
        files = sorted({item.path for item in items})
        random.Random(seed).shuffle(files)
        items.sort(key=lambda item: files.index(item.path))
    for item in items:
        folder = _folder(item)
        if item.get_closest_marker("timeout") is None:
            longer = 2 if item.get_closest_marker("slow") else 1
            item.add_marker(pytest.mark.timeout(longer * _LIMIT_SECONDS[folder]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """A worker gets whole files, and all files of a folder whose tests share something that exists once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByResource(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.split("/")[1]
            return folder if folder in _ONE_WORKER else file

    return ByResource(config, log)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


@pytest.fixture(scope="session")
def spark_server() -> Endpoint:
    """The embedded server of all workers."""
    return spark_endpoint()
