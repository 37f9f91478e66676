"""The implementations that the contract suites run against."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.ports.control import ControlStore
from airflow_refresh_provider.testing.memory_control import MemoryControlStore


@pytest.fixture(params=["memory", "delta"])
def doors(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ControlStore]:
    """A function that gives one more door to the same control root, as another process would have."""
    if request.param == "memory":
        only = MemoryControlStore()
        return lambda: only
    root = str(tmp_path / "a root with 'quotes' # and ünïcode")
    return lambda: DeltaControlStore(root)


@pytest.fixture
def store(doors: Callable[[], ControlStore]) -> ControlStore:
    return doors()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user may enter."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)
