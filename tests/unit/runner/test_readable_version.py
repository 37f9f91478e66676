"""The version that readers are given: the newest that has exactly the published rows."""

from __future__ import annotations

from dataclasses import replace

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.ports.watch import Committed, Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.world import NAME, TARGET, World, row

SEVERAL = {"chunking": {"one_commit_up_to": 2, "chunk_rows": 2}, "view": "gold.orders"}


def _world() -> World:
    world = World(*(row(i) for i in range(6)), **SEVERAL)
    world.run()
    world.become(*(row(i, "b") for i in range(6)))
    world.run()
    return world


def test_the_seal_of_a_refresh_is_read_and_not_the_version_before_it() -> None:
    world = _world()
    published = world.record.published
    assert published is not None
    assert published.seal_version > published.version

    found = world.refreshes.published(NAME)

    assert (found.version, found.until) == (published.seal_version, None)
    view = world.ports.engine.views["gold.orders"]  # type: ignore[attr-defined]
    assert view[:2] == (TARGET, published.seal_version)
    assert world.target(found.version) == world.target(published.version)


def test_maintenance_is_passed_over_and_rows_of_others_are_not() -> None:
    world = _world()
    newest = world.refreshes.published(NAME).version
    world.lake.optimize(TARGET)
    assert world.refreshes.published(NAME).version == newest + 1
    world.lake.append(TARGET, [row(7)])
    world.lake.optimize(TARGET)

    found = world.refreshes.published(NAME)

    assert found.version == newest + 1
    assert found.until is not None
    assert row(7) not in world.target(found.version)


def test_the_chunks_of_a_refresh_in_progress_are_not_read() -> None:
    world = _world()
    before = world.refreshes.published(NAME).version
    world.become(*(row(i, "c") for i in range(6)))
    commits: list[int] = []
    asked: list[int] = []

    class Watching(Silent):
        def committed(self, chunk: Committed) -> None:
            commits.append(len(world.commits) - 1)
            asked.append(world.refreshes.published(NAME).version)

    Refreshes(replace(world.process(), watch=Watching())).run(NAME, Request(workers=1))

    assert len(commits) > 1
    assert set(asked) == {before}
    assert world.refreshes.published(NAME).version == len(world.commits) - 1


def test_a_log_that_was_cleaned_up_leaves_the_published_version() -> None:
    world = _world()
    published = world.record.published
    assert published is not None
    world.lake.table(TARGET).oldest = published.version + 2

    assert world.refreshes.published(NAME).version == published.version
