"""A commit to a target is announced to Spark before the changes are read, so that it gets ready meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.ports.tasks import ApplyTask, CompareTask, Comparison, Source, WindowTask
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from tests.unit.runner.world import INPUT, NAME, ONE, World, row


class ForewarnedEngine(MemoryEngine):
    """An engine whose sessions note together what is asked of them."""

    def __init__(self, lake: MemoryLake) -> None:
        super().__init__(lake)
        self.asked: list[str] = []

    def open(self, session_id: str) -> ForewarnedSession:
        return ForewarnedSession(self, session_id)


class ForewarnedSession(MemorySession):
    """A session that notes its acts."""

    def __init__(self, engine: ForewarnedEngine, session_id: str) -> None:
        super().__init__(engine, session_id)
        self.asked = engine.asked

    def expect_commit(self, location: str) -> None:
        self.asked.append(f"expect a commit to {location}")
        super().expect_commit(location)

    def describe(self, source: Source) -> Columns:
        self.asked.append("describe")
        return super().describe(source)

    def read_windows(self, task: WindowTask) -> StagedTable:
        self.asked.append("read")
        return super().read_windows(task)

    def compare(self, task: CompareTask) -> Comparison:
        self.asked.append("read")
        return super().compare(task)

    def apply(self, task: ApplyTask) -> None:
        self.asked.append(f"commit to {task.target.location}")
        super().apply(task)


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_a_commit_is_expected_before_the_query_is_described(mode: str) -> None:
    world = World(*(row(i) for i in range(6)), mode=mode)
    world.run()
    world.lake.append(INPUT, [row(100)])
    engine = ForewarnedEngine(world.lake)
    Refreshes(replace(world.ports, engine=engine)).run(NAME, ONE)
    assert world.fresh()
    target = world.record.definition.target
    assert engine.asked == [f"expect a commit to {target}", "describe", "read", f"commit to {target}"]
