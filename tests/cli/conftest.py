"""The program in this process on tables in memory, and as a separate process on real tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from airflow_refresh_provider.cli.call import Composition, composed
from airflow_refresh_provider.cli.main import main
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.places import CONTROL_VARIABLE, Places
from airflow_refresh_provider.ports.watch import Watch
from airflow_refresh_provider.ports.world import Clock
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports

ROOT = Path(__file__).parents[2]
COLUMNS = (Column(name="id", type="bigint"), Column(name="name", type="string"))
DEFINITION = """
name: {name}
target: gold/{name}
from: people
inputs:
  people: {{path: silver/people}}
keys: [id]
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What commands in this process find instead of the environment: no control root, and a folder for the log."""
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)


Program = Callable[..., Ended]


@pytest.fixture
def composition(request: pytest.FixtureRequest) -> Composition:
    """The refreshes that commands use: every control root is the lake in memory where a test uses that."""
    if "world" in request.fixturenames:
        world: World = request.getfixturevalue("world")
        return world.refreshes
    return composed


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str], composition: Composition, environment: dict[str, str]) -> Program:
    """The program in this process."""

    def run(*words: str, composition: Composition = composition) -> Ended:
        capfd.readouterr()
        code = main(words, composition, environment)
        return Ended(code, *capfd.readouterr())

    return run


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program as a separate process, in an empty folder."""

    def run(*words: str, **environment: str) -> Ended:
        ended = subprocess.run(
            [sys.executable, "-m", "airflow_refresh_provider.cli.main", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


@dataclass(frozen=True)
class World:
    """A lake with one input, and the folder of the definitions' files."""

    folder: Path
    lake: MemoryLake = field(default_factory=MemoryLake)
    store: MemoryControlStore = field(default_factory=MemoryControlStore)

    @property
    def people(self) -> str:
        """Where the input is."""
        return str(self.folder / "silver" / "people")

    def write(self, name: str = "people_copy", text: str = DEFINITION) -> str:
        """A definition's file."""
        path = self.folder / f"{name}.yaml"
        path.write_text(text.format(name=name))
        return str(path)

    def refreshes(
        self, _places: Places | None = None, watch: Watch | None = None, clock: Clock | None = None
    ) -> Refreshes:
        """The refreshes of this lake for any control root; each call is a new process for the runner."""
        ports = memory_ports(self.lake, self.store)
        return Refreshes(replace(ports, watch=watch or ports.watch, clock=clock or ports.clock))


@pytest.fixture
def world(tmp_path: Path, environment: dict[str, str]) -> World:
    """A lake in memory, and a control root that does not exist."""
    found = World(tmp_path)
    found.lake.create(found.people, COLUMNS, [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}])
    environment[CONTROL_VARIABLE] = str(tmp_path / "control")
    return found


@pytest.fixture(scope="session")
def spark(spark_server: Endpoint) -> str:
    """The URL of a real Spark server."""
    return spark_server.url


@pytest.fixture
def registered(world: World, here: Program) -> World:
    """The world with its definition registered."""
    assert here("register", world.write()).code == 0
    return world
