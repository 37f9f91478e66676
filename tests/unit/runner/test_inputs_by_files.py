"""Which inputs Spark reads by their files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.tasks import CompareTask, Comparison, KeyReport, Source
from airflow_refresh_provider.runner.facts import pinned_inputs
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from tests.unit.runner.world import INPUT, NAME, ONE, World, row


class Reading(MemorySession):
    """A session that remembers which acts were handed files."""

    def __init__(self, engine: ReadingEngine, session_id: str) -> None:
        super().__init__(engine, session_id)
        self.by_files = engine.by_files

    def check_keys(self, source: Source, target: Target) -> KeyReport:
        self.by_files += ["check"] if source.reads["x"].paths else []
        return super().check_keys(source, target)

    def compare(self, task: CompareTask) -> Comparison:
        self.by_files += ["compare"] if task.source.reads["x"].paths else []
        return super().compare(task)


class ReadingEngine(MemoryEngine):
    """An engine whose sessions remember together."""

    def __init__(self, lake: MemoryLake) -> None:
        super().__init__(lake)
        self.by_files: list[str] = []

    def open(self, session_id: str) -> Reading:
        return Reading(self, session_id)


def _files(world: World, **options: str) -> int:
    definition = world.record.definition
    given = definition.inputs["x"].model_copy(update={"options": options})
    definition = definition.model_copy(update={"inputs": {"x": given}})
    pins = pinned_inputs.pin(world.ports, definition)
    whole = pins["x"].read(options)
    source = Source(query="", reads={"x": whole}, keys=("k",))
    read = pinned_inputs.by_files(world.ports, source, definition, pins).reads["x"]
    assert read in (whole, whole.of_files(read.paths))
    return len(read.paths)


@pytest.mark.parametrize(("written", "listed"), [(0, 0), (1, 1), (16, 16), (17, 0)])
def test_a_table_of_a_few_files_is_read_by_them(written: int, listed: int) -> None:
    world = World()
    for number in range(written):
        world.lake.append(INPUT, (row(number),))

    assert _files(world) == listed


def test_a_table_with_reader_options_is_read_as_a_table() -> None:
    assert _files(World(row(1))) == 1
    assert _files(World(row(1)), some="option") == 0


def test_the_check_of_the_keys_and_every_comparison_are_handed_the_files() -> None:
    world = World(row(1))
    engine = ReadingEngine(world.lake)
    refreshes = Refreshes(replace(world.ports, engine=engine))

    refreshes.run(NAME, ONE)
    assert engine.by_files == ["check"]
    world.lake.append(INPUT, (row(2),))
    refreshes.run(NAME, ONE)
    assert engine.by_files == ["check", "compare"]
    refreshes.compare_only(NAME)
    assert engine.by_files == ["check", "compare", "compare"]
