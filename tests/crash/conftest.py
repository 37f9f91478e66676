"""One server for all crash tests, killed and started again by those that need it, and stages on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.request import Request
from tests.crash.jvm import Server, compile_java, holding
from tests.crash.lake import NAME, Kind, Lake
from tests.crash.stage import Stage

SetUp = Callable[[Kind], Stage]


@pytest.fixture(scope="session")
def holds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("holds")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, holds: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("crash")
    server = Server(folder / "spark", holding(compile_java(folder / "classes"), holds))
    yield server
    server.stop()


@pytest.fixture
def new_stage(tmp_path: Path, server: Server, holds: Path) -> Iterator[SetUp]:
    """Sets a stage up whose target does not exist yet."""
    made: list[Stage] = []

    def set_up(kind: Kind) -> Stage:
        made.append(_new(tmp_path, kind, server, holds))
        return made[-1]

    yield set_up
    for stage in made:
        stage.clear()


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory, server: Server, holds: Path) -> SetUp:
    """Stages whose target has been loaded. One that is still sound serves the next scenario too."""
    kept: dict[Kind, Stage] = {}

    def get(kind: Kind) -> Stage:
        stage = kept.get(kind)
        if stage is None or not stage.sound:
            stage = kept[kind] = _new(tmp_path_factory.mktemp(kind.name), kind, server, holds)
            stage.refreshes().run(NAME, Request())
        return stage

    return get


@pytest.fixture
def stage_of(loaded: SetUp) -> Iterator[SetUp]:
    """Sets up a stage whose target was once equal to the query, and whose input has changed since."""
    used: list[Stage] = []

    def set_up(kind: Kind) -> Stage:
        used.append(loaded(kind))
        used[-1].lake.change()
        return used[-1]

    yield set_up
    for stage in used:
        stage.clear()


def _new(folder: Path, kind: Kind, server: Server, holds: Path) -> Stage:
    lake = Lake(folder, kind)
    lake.change(files=4)
    stage = Stage(folder, lake, server, holds)
    stage.refreshes().register(lake.definition())
    return stage
