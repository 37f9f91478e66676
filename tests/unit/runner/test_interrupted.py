"""Runs that are interrupted at any step, and how they are resumed."""

import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS
from airflow_refresh_provider.core.run.owner import STALE_AFTER
from airflow_refresh_provider.core.run.request import IfRunning, Request
from airflow_refresh_provider.core.run.results import Outcome, Rows, RunResult
from airflow_refresh_provider.errors import Failed, Lost, Refused, Retry
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import BY_VNODE, LIVE, changed, cut_off, once
from tests.unit.runner.faults import POINTS, Killed, at, disconnected
from tests.unit.runner.world import FORCE, INPUT, NAME, ONE, TARGET, World, row

BY_PARTITION: dict[str, Any] = {"partition_by": ["v"], "chunking": {"one_commit_up_to": 1, "chunk_rows": 6}}
_OF_PARTITIONS = [row(k, "abcdefgh"[k % 8]) for k in range(24)]


def _dies_at(world: World, point: str, nth: int) -> bool:
    """Whether the run dies at this step; one that does not has fewer of them."""
    with at(world.lake, point, nth=nth) as steps:
        died = cut_off(world)
    if died:
        world.die(world.ports)
    else:
        assert sum(step.startswith(point) for step in steps) < nth
    return died


@pytest.mark.parametrize("options", [{}, LIVE, BY_VNODE], ids=["one commit", "chunks", "vnodes"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_run_killed_anywhere_is_finished_by_the_next_owner(options: dict[str, Any], point: str, nth: int) -> None:
    world = changed(**options)
    if not _dies_at(world, point, nth):
        return
    result = world.another()
    assert world.fresh()
    assert result.resumed == (result.reason is not None)
    assert result.rows == Rows(inserted=2, updated=2, deleted=2, unchanged=2)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_first_load_by_partitions_is_finished_by_the_next_owner(point: str, nth: int) -> None:
    world = World(*_OF_PARTITIONS, **BY_PARTITION)
    if _dies_at(world, point, nth):
        world.another()
        assert world.fresh()


def test_a_chunk_has_all_rows_of_its_partitions() -> None:
    world = World(*_OF_PARTITIONS, **BY_PARTITION)
    world.run()
    versions = [Counter(r["v"] for r in world.lake.rows(TARGET, n)) for n in range(len(world.commits))]
    assert all(set(counts.values()) <= {3} for counts in versions)
    assert len({len(counts) for counts in versions}) > 3, "in several chunks"


def much_changed(**options: Any) -> World:
    """A target all of whose rows have changed, more than a statement can list."""
    world = World(*[row(i) for i in range(LITERAL_KEYS + 1)], **options)
    world.run()
    world.become(*[row(i, "b") for i in range(LITERAL_KEYS + 1)])
    return world


@pytest.mark.parametrize("point", ["begin /gold", "commit /gold", "answer /gold"])
def test_a_rewritten_table_is_finished_by_the_next_owner(point: str) -> None:
    world = much_changed()
    with at(world.lake, point):
        cut_off(world)
    world.die(world.ports)
    world.another()
    assert world.fresh()
    assert _ways(world)[-1] == "rewrite"


@pytest.mark.parametrize("options", [{"deletes": "ignore"}, {"layout": "vnode", "vnodes": 2}])
def test_a_table_that_may_not_be_rewritten_is_not(options: dict[str, Any]) -> None:
    world = much_changed(**options)
    world.run()
    assert "rewrite" not in _ways(world)


def test_committed_chunks_are_skipped_and_the_run_keeps_its_pins() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=3):
        assert cut_off(world)
    world.die(world.ports)
    world.lake.append(INPUT, [row(50)])
    result = world.another()
    assert (result.resumed, result.chunks.skipped) == (True, 2)
    assert row(50) not in world.target()
    assert world.another().rows.inserted == 1
    assert world.fresh()


@pytest.mark.parametrize("mode", ["full", "incremental"])
@pytest.mark.parametrize("point", ["open session", "commit memory://staging", "answer memory://staging"])
def test_a_caller_that_resumes_a_load_may_accept_a_mass_delete(mode: str, point: str) -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5, mode=mode)
    world.run()
    world.become(row(0), row(1))
    with at(world.lake, point):
        assert cut_off(world)
    world.die(world.ports)
    result = world.another(FORCE)
    assert world.fresh()
    assert (result.resumed, result.rows.deleted) == (True, 4)


def test_force_is_stored_before_it_is_used_and_stays_with_the_run() -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5)
    world.run()
    world.become(row(0), row(1))
    for request in (ONE, FORCE):
        owner = world.process()
        with at(world.lake, "commit memory://staging"), pytest.raises(Killed):
            Refreshes(owner).run(NAME, request)
        world.die(owner)
    assert world.another().rows.deleted == 4
    assert world.fresh()


def test_a_resumed_load_without_force_is_refused_its_mass_delete() -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5)
    world.run()
    world.become(row(0), row(1))
    with at(world.lake, "commit memory://staging"):
        assert cut_off(world)
    world.die(world.ports)
    with pytest.raises(Refused, match="delete 4 of 6 rows"):
        world.another()
    assert len(world.target()) == 6


def test_the_outcome_of_a_statement_is_read_from_the_log() -> None:
    world = changed()
    with at(world.lake, "answer /gold", disconnected):
        assert world.run().outcome is Outcome.SUCCEEDED
    assert world.fresh()


def test_a_run_whose_statement_failed_is_released_at_once() -> None:
    world = changed()
    with at(world.lake, "commit /gold", disconnected), pytest.raises(Retry):
        world.run()
    assert world.interrupted.lease.owner is None
    assert world.another().resumed
    assert world.fresh()


@pytest.mark.parametrize("point", ["open session", "begin /gold"])
def test_a_run_whose_take_over_failed_is_released_at_once(point: str) -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert cut_off(world)
    world.die(world.ports)
    with at(world.lake, point, disconnected), pytest.raises(Retry):
        world.another()
    assert world.interrupted.lease.owner is None
    assert world.another().chunks.skipped == 1
    assert world.fresh()


def test_a_live_owner_is_not_disturbed() -> None:
    world = changed()
    with at(world.lake, "begin /gold"):
        assert cut_off(world)
    with pytest.raises(Refused, match="is being refreshed by process") as raised:
        world.another()
    assert raised.value.code == "already_running"
    skipped = world.another(Request(if_running=IfRunning.SKIP))
    assert (skipped.outcome, "in progress" in (skipped.reason or "")) == (Outcome.SKIPPED, True)


def test_an_owner_without_signs_of_life_is_waited_for_and_then_replaced() -> None:
    world = changed()
    with at(world.lake, "begin /gold"):
        assert cut_off(world)
    later = world.process()
    later.clock.sleep(STALE_AFTER.total_seconds() - 10)
    assert Refreshes(later).run(NAME, ONE).resumed
    assert world.fresh()


def test_a_replaced_owner_has_lost_whatever_error_spark_raises() -> None:
    world = changed()
    rival: list[RunResult] = []

    def overtaken(what: str) -> None:
        if what.startswith("commit memory://staging") and not rival:
            world.lake.step = lambda _what: None
            world.die(world.ports)
            rival.append(world.another())
            raise disconnected()

    world.lake.step = overtaken
    with pytest.raises(Lost):
        world.run()
    assert world.fresh()


def test_a_replaced_owner_ends_and_writes_nothing() -> None:
    world = changed(**LIVE)
    rival: list[RunResult] = []

    def overtaken(what: str) -> None:
        if what.startswith("commit /gold") and not rival:
            world.lake.step = lambda _what: None
            world.die(world.ports)
            rival.append(world.another())

    world.lake.step = overtaken
    with pytest.raises(Lost):
        world.run()
    assert rival[0].resumed
    assert world.fresh()
    assert [h.outcome for h in world.refreshes.history(NAME)] == [Outcome.SUCCEEDED, Outcome.SUCCEEDED]


def test_of_two_callers_that_start_at_once_one_wins() -> None:
    world = changed()
    late: list[RunResult] = []
    world.lake.step = once(world, "read markers", lambda: late.append(world.another()))
    assert world.run().outcome is Outcome.NOTHING_TO_DO
    assert late[0].outcome is Outcome.SUCCEEDED
    assert world.fresh()


@pytest.mark.parametrize("point", POINTS[:-1])
def test_parallel_units_are_resumed_after_a_failure(point: str) -> None:
    world = changed(**BY_VNODE)
    with at(world.lake, point, disconnected), suppress(Retry):  # an answer that is lost is read from the log
        world.run(Request(workers=3))
    world.another(Request(workers=3))
    assert world.fresh()


def test_parallel_units_end_when_the_process_is_interrupted() -> None:
    world = changed(**BY_VNODE)
    released = threading.Event()
    this = threading.get_ident()
    both = threading.Barrier(2, action=lambda: signal.pthread_kill(this, signal.SIGINT))
    waited: list[bool] = []

    def step(what: str) -> None:
        if what.startswith("begin /gold"):
            time.sleep(0.2)  # until all have been started, and are waited for
            both.wait(timeout=60)
            waited.append(released.wait(timeout=60))
        elif what == "release session":
            released.set()

    world.lake.step = step
    # A test of Airflow in the same process may have left a handler of Airflow's behind, which interrupts nothing.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            world.run(Request(workers=2))
    finally:
        signal.signal(signal.SIGINT, before)
    world.lake.step = lambda _what: None
    assert waited == [True, True]
    assert world.another().resumed
    assert world.fresh()


@pytest.mark.parametrize("code", ["disk_full", "storage_denied"])
def test_a_load_whose_environment_failed_is_resumed(code: str) -> None:
    world = World(*[row(i) for i in range(20)], chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    world.run()
    world.lake.append(INPUT, [row(i) for i in range(20, 30)])
    trouble = Failed(code, "no room, or no right", left="as it was", next="fix it")
    with at(world.lake, "commit memory://staging", lambda: trouble, nth=2), pytest.raises(Failed, match="no room"):
        world.run()
    kept = world.interrupted
    assert kept.lease.owner is None
    with at(world.lake, "no such step") as steps:
        result = world.another()
    assert result.resumed and result.run_id == kept.run_id
    assert world.fresh()
    assert sum(step.startswith("commit memory://") and step.endswith("/rows") for step in steps) == 1


def _ways(world: World) -> list[str]:
    notes = (read_note(commit.note) for commit in world.commits)
    return [note.way for note in notes if note and note.way]
