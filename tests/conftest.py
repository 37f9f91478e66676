"""What holds for every test: nothing is left in the home folder, and the clock of a slow machine fails nobody.

All tests share one Spark server, but those that harm theirs.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.frugal import FRUGAL, INTERPRETED

if TYPE_CHECKING:
    from airflow_refresh_provider.spark.connect.endpoint import Endpoint

# Airflow reads it at its first import and writes below it.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)

settings.register_profile("project", deadline=None)
settings.load_profile("project")

_LONGEST_FIRST = ("model", "running", "crash", "airflow", "engine", "cli", "contract")
"""Folders by how long a file of theirs takes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of files that run side by side the short ones come last: then all ends at about the same time."""
    rank = {folder: at for at, folder in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.relative_to(Path(__file__).parent).parts[0], len(rank)))


@pytest.fixture(scope="session")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An embedded server."""
    from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

    options = ServerOptions(memory="2g", java_options=FRUGAL, extra_conf=INTERPRETED)
    server = EmbeddedServer(tmp_path_factory.mktemp("spark"), options)
    yield server.ensure()
    server.stop()
