"""A small target is rewritten without Spark: one commit, with what others have written, or none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.errors import Failed, Lost
from airflow_refresh_provider.ports.small_tables import Unfit
from airflow_refresh_provider.ports.tasks import ApplyTask
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_small_tables import MemorySmallTables
from airflow_refresh_provider.views.lines import Lines
from tests.unit.runner.disturbed import once
from tests.unit.runner.faults import POINTS, Killed, at
from tests.unit.runner.world import INPUT, NAME, ONE, TARGET, World, row

SIX = [row(i) for i in range(6)]


class ReadingSession(MemorySession):
    """A session that reads and stages, and applies nothing."""

    def apply(self, task: ApplyTask) -> None:
        raise AssertionError(f"Spark was asked to apply {task.chunk}")

    def expect_commit(self, location: str) -> None:
        raise AssertionError(f"Spark was asked to get ready for a commit to {location}")


class ReadingEngine(MemoryEngine):
    """An engine with such sessions."""

    def open(self, session_id: str) -> ReadingSession:
        return ReadingSession(self, session_id)


def small(**options: object) -> World:
    """A refreshed small target, whose input has lost a row, got one, and changed one since."""
    world = World(*SIX, mode="incremental", **options)
    world.run()
    world.lake.plain = True
    change(world)
    return world


def change(world: World) -> None:
    first, second = sorted(r["k"] for r in world.source())[:2]
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == first else r | {"v": r["v"] + "b"} if r["k"] == second else r)
    world.lake.append(INPUT, [row(100 + len(world.source()) + first)])


def ways(world: World) -> list[str | None]:
    """How the chunks in the target were applied."""
    notes = [read_note(commit.note) for commit in world.commits]
    return [note.way for note in notes if note and note.way]


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_changes_are_one_commit_without_spark(mode: str) -> None:
    world = small()
    before = len(world.commits)
    result = Refreshes(replace(world.ports, engine=ReadingEngine(world.lake))).run(
        NAME, ONE.model_copy(update={"mode": mode})
    )
    assert world.fresh()
    assert result.rows == Rows(inserted=1, updated=1, deleted=1, unchanged=4)
    assert len(world.commits) == before + 1
    assert ways(world)[-1] == "small_table"


def test_refreshes_follow_each_other() -> None:
    world = small()
    for _ in range(3):
        assert world.run().mode == "incremental"
        assert world.fresh()
        change(world)
    versions = [commit.version for commit in world.commits]
    assert all(after == before + 1 for before, after in pairwise(versions))


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_dies_is_followed_by_one_that_ends_its_run(point: str) -> None:
    for nth in range(1, 4):
        world = small()
        with at(world.lake, point, nth=nth), suppress(Killed):
            world.run()
        world.die(world.ports)
        world.another()
        world.another()
        assert world.fresh()


@pytest.mark.parametrize("before", ["begin /gold", "commit /gold", "answer /gold"])
@pytest.mark.parametrize("act", ["insert", "update", "delete", "restore", "mark"])
def test_what_others_write_meanwhile_is_neither_lost_unnoticed_nor_published(act: str, before: str) -> None:
    world = small()
    lake = world.lake
    acts = {
        "insert": lambda: lake.append(TARGET, [row(99)]),
        "update": lambda: lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == 1 else r),
        "delete": lambda: lake.rewrite(TARGET, lambda r: None if r["k"] == 1 else r),
        "restore": lambda: lake.restore(TARGET, 0),
        "mark": lambda: lake.append(TARGET, []),
    }
    lake.step = once(world, before, acts[act])
    result = world.run()
    assert result.published_version is not None
    assert world.target(result.published_version) == world.source()
    world.run()
    assert world.fresh()


def test_rows_of_others_stay_where_deletes_are_ignored() -> None:
    world = small(deletes="ignore")
    world.lake.step = once(world, "begin /gold", lambda: world.lake.append(TARGET, [row(99, "foreign")]))
    world.run()
    world.lake.step = lambda _what: None
    world.run()
    assert row(99, "foreign") in world.target()
    assert all(r in world.target() for r in world.source())


def test_a_key_that_the_query_gives_twice_is_found_before_anything_is_applied() -> None:
    world = small()
    world.run()
    world.lake.append(INPUT, [row(4, "again")])  # its changes do not show that there is a row with this key
    before, published = len(world.commits), world.record.published
    with pytest.raises(Failed, match="more than one row for 1 key"):
        world.run()
    assert (len(world.commits), world.record.published) == (before, published)


def test_a_row_that_comes_back_where_deletes_are_ignored_is_compared() -> None:
    world = small(deletes="ignore")
    world.run()
    gone = next(r for r in world.target() if r not in world.source())
    world.lake.append(INPUT, [gone | {"v": "back"}])
    result = world.run()
    assert result.mode == "full"
    assert "do not fit the rows of the target" in (result.mode_reason or "")
    assert gone | {"v": "back"} in world.target()


def test_spark_merges_what_no_longer_fits_and_a_comparison_follows() -> None:
    world = small()
    said: list[str] = []

    def delete() -> None:
        world.lake.rewrite(TARGET, lambda r: None if r["k"] == 1 else r)

    world.lake.step = once(world, "commit /gold", delete)  # the row is gone when the table is read again
    Refreshes(replace(world.ports, watch=Lines(said.append))).run(NAME, ONE)
    assert "merge" in ways(world)
    assert any("is merged by Spark" in line for line in said)
    world.run()
    assert world.fresh()


class Denied(MemorySmallTables):
    """Small tables that this process may not write."""

    def rewrite(self, task: ApplyTask) -> Unfit | None:
        return Unfit.DENIED


def test_spark_merges_where_the_process_may_not_write() -> None:
    world = small()
    said: list[str] = []
    ports = replace(world.ports, small_tables=Denied(world.lake), watch=Lines(said.append))
    assert Refreshes(ports).run(NAME, ONE).mode == "incremental"
    assert world.fresh()
    assert ways(world)[-1] == "merge"
    assert any("is merged by Spark" in line and Unfit.DENIED in line for line in said)


def test_a_commit_that_another_writer_has_overwritten_is_found_by_the_next_refresh() -> None:
    world = small()
    world.run()
    table = world.lake.table(TARGET)
    own, before = table.versions.pop(), table.newest
    world.lake.append(TARGET, [row(99, "foreign")])
    assert (before.commit.version, own.commit.version) == (world.commits[-2].version, world.commits[-1].version)
    result = world.run()
    assert "others have written the target" in (result.mode_reason or "")
    assert world.fresh()


def test_a_zombie_commits_nothing_after_its_slot_was_fenced() -> None:
    world = small()
    ended: list[object] = []

    def successor() -> None:
        world.die(world.ports)
        ended.append(world.another())

    world.lake.step = once(world, "commit /gold", successor)
    before = len(world.commits)
    with pytest.raises(Lost):
        world.run()
    assert ended
    assert world.fresh()
    applied = [c for c in world.commits[before:] if c.data_change]
    assert len(applied) == 1
