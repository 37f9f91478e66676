"""The seal of a run: committed by this process, by Spark where that cannot, and never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.errors import Conflict, Failed, Retry
from airflow_refresh_provider.ports.seals import Unsealed
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_seals import MemorySeals
from airflow_refresh_provider.views.lines import Lines
from tests.unit.runner.disturbed import once
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, World, row


class UnsealingSession(MemorySession):
    """A session that seals nothing."""

    def mark(self, target: Target, stamp: Stamp) -> None:
        raise AssertionError(f"Spark was asked to commit {stamp.note.kind} to {target.location}")


class UnsealingEngine(MemoryEngine):
    """An engine with such sessions."""

    def open(self, session_id: str) -> UnsealingSession:
        return UnsealingSession(self, session_id)


class Unable(MemorySeals):
    """Seals that this process cannot commit."""

    why = Unsealed.FEATURES

    def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
        return self.why


def moved() -> World:
    """A refreshed target whose input has a new version with the same rows."""
    world = World(*[row(i) for i in range(6)])
    world.run()
    world.lake.rewrite(INPUT, lambda r: r)
    return world


def seals(world: World) -> list[str | None]:
    """The runs whose seals are in the target's log."""
    notes = [read_note(commit.note) for commit in world.commits]
    return [note.run for note in notes if note and note.kind is NoteKind.SEAL]


def test_a_run_that_changes_nothing_commits_nothing_through_spark() -> None:
    world = moved()
    before = len(world.commits)
    result = Refreshes(replace(world.ports, engine=UnsealingEngine(world.lake))).run(NAME, ONE)
    assert (result.rows.inserted, result.rows.updated, result.rows.deleted) == (0, 0, 0)
    assert len(world.commits) == before + 1
    assert seals(world)[-1] == result.run_id


@pytest.mark.parametrize("why", Unsealed)
def test_spark_seals_where_this_process_cannot_and_says_why(why: Unsealed) -> None:
    world = moved()
    said: list[str] = []
    unable = Unable(world.lake)
    unable.why = why
    result = Refreshes(replace(world.ports, seals=unable, watch=Lines(said.append))).run(NAME, ONE)
    assert seals(world)[-1] == result.run_id
    assert any("the seal is committed by Spark" in line and f"({why})" in line for line in said)


def test_a_checkpoint_is_left_to_spark() -> None:
    world = moved()
    every = int(world.lake.table(TARGET).newest.properties["delta.checkpointInterval"])
    while len(world.commits) % every:
        world.lake.optimize(TARGET)
    said: list[str] = []
    Refreshes(replace(world.ports, watch=Lines(said.append))).run(NAME, ONE)
    assert any(Unsealed.CHECKPOINT in line for line in said)


def test_a_seal_that_another_commit_overtakes_is_sent_again() -> None:
    world = moved()
    before = len(world.commits)
    world.lake.step = once(world, "commit /gold", lambda: world.lake.append(TARGET, [row(99, "foreign")]))
    result = world.run()
    assert len(world.commits) == before + 2
    assert seals(world).count(result.run_id) == 1
    assert world.run().rows.deleted == 1  # the row came after the version that was published
    assert world.fresh()


def test_a_seal_whose_answer_is_lost_is_found_in_the_log() -> None:
    world = moved()

    class Silent(MemorySeals):
        """Seals whose answer does not arrive."""

        def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
            super().commit(target, stamp)
            raise Retry("storage_failed", "no answer", left="", next="")

    result = Refreshes(replace(world.ports, seals=Silent(world.lake))).run(NAME, ONE)
    assert seals(world).count(result.run_id) == 1


def test_a_target_that_was_replaced_before_the_seal_is_not_sealed() -> None:
    world = moved()

    class Replaced(MemorySeals):
        """Another table comes into the place of the target."""

        def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
            world.lake.remove(TARGET)
            world.lake.create(TARGET, COLUMNS, [row(7)])
            raise Conflict("concurrent_commit", "another table", left="", next="")

    with pytest.raises(Failed) as caught:
        Refreshes(replace(world.ports, seals=Replaced(world.lake))).run(NAME, ONE)
    assert caught.value.code == "target_replaced"
    assert seals(world) == []
