"""A run that is cancelled: its owner has lost it at once, and the next run resumes it, or starts a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from airflow_refresh_provider.core.run.admin_results import RecoveryOutcome
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Cancelled, Lost, Refused, Retry
from airflow_refresh_provider.runner.admin import cancelling
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.testing.memory_ports import MemoryHeart
from tests.unit.runner.disturbed import LIVE, cut_off
from tests.unit.runner.faults import POINTS, Killed, at
from tests.unit.runner.phased import BY_VNODE, MINE, OTHER, changed, finished, loaded, merged, started
from tests.unit.runner.world import INPUT, NAME, World, row


@contextmanager
def at_step(world: World, what: str, act: Callable[[], object], nth: int = 1) -> Iterator[list[str]]:
    """Do something else when a step begins with these words for the n-th time. Yields the steps."""
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if name.startswith(what) and sum(s.startswith(what) for s in steps) == nth:
            world.lake.step = lambda _what: None
            act()
            world.lake.step = step

    world.lake.step = step
    yield steps
    world.lake.step = lambda _what: None


def cancel(world: World, **how: Any) -> None:
    """As the page of another process does: control tables alone."""
    given: dict[str, Any] = {"run_id": None, "abandon": False, "by": "ann", **how}
    cancelling.request_cancel(world.process(), NAME, given["run_id"], abandon=given["abandon"], by=given["by"])


def seen_by_its_owner(world: World, **how: Any) -> Callable[[], None]:
    """A cancellation that the owner's thread sees at once."""

    def act() -> None:
        cancel(world, **how)
        assert isinstance(world.ports.heart, MemoryHeart)
        world.ports.heart.look()

    return act


def cancelled_after(world: World, commits: int, **how: Any) -> str:
    with at_step(world, "commit /gold", seen_by_its_owner(world, **how), nth=commits), pytest.raises(Cancelled):
        world.run()
    return str(world.record.last_run and world.record.last_run.run_id)


@pytest.mark.parametrize("options", [LIVE, BY_VNODE], ids=["plain", "vnodes"])
def test_a_cancelled_run_is_resumed_after_its_last_chunk(options: dict[str, Any]) -> None:
    world = changed(**options)
    run_id = cancelled_after(world, 2)
    assert world.interrupted.lease.owner is None
    assert world.refreshes.history(NAME)[0].outcome is Outcome.CANCELLED
    result = world.another()
    assert (result.run_id, result.resumed, result.chunks.skipped) == (run_id, True, 2)
    assert result.reason is not None and result.reason.startswith("it was cancelled by ann after 2 of")
    assert world.fresh()
    newest, *_rest = world.refreshes.history(NAME)
    assert (newest.run_id, newest.outcome) == (run_id, Outcome.SUCCEEDED)


@pytest.mark.parametrize("what", POINTS)
def test_a_run_may_be_cancelled_at_any_step(what: str) -> None:
    world = changed(**BY_VNODE)
    with at_step(world, what, seen_by_its_owner(world)) as steps:
        try:
            world.run()
        except Cancelled:
            assert world.record.last_run is not None and world.record.last_run.outcome is Outcome.CANCELLED
        except Refused:
            assert what.startswith("drop")
    assert any(step.startswith(what) for step in steps)
    if world.record.run:
        assert world.another().resumed
    assert world.fresh()


def test_an_interrupted_statement_ends_as_cancelled_although_spark_says_something_else() -> None:
    world = changed(**LIVE)

    def interrupted() -> BaseException:
        seen_by_its_owner(world)()
        return Retry("statement_cancelled", "the statement was cancelled in Spark", left="", next="")

    with at(world.lake, "begin /gold", interrupted, nth=2), pytest.raises(Cancelled) as ended:
        world.run()
    assert (ended.value.code, isinstance(ended.value, Lost)) == ("cancelled", True)
    assert "cancelled by ann" in ended.value.message


def test_the_owner_s_sessions_are_released_once_it_looks() -> None:
    world = changed(**LIVE)
    engine = world.ports.engine
    assert isinstance(engine, MemoryEngine)
    sessions: list[str] = []

    def act() -> None:
        sessions.append(world.interrupted.session)
        seen_by_its_owner(world)()
        assert set(sessions) <= engine.released

    with at_step(world, "begin memory://staging", act), pytest.raises(Cancelled):
        world.run()
    assert sessions


def test_a_run_that_is_cancelled_for_good_is_abandoned_by_its_owner() -> None:
    world = changed(**LIVE)
    run_id = cancelled_after(world, 2, abandon=True)
    assert world.record.run is None and not world.staged()
    [ended, *_] = world.refreshes.history(NAME)
    assert (ended.run_id, ended.outcome) == (run_id, Outcome.CANCELLED)
    assert world.refreshes.show(NAME).last_run == world.record.last_run
    result = world.another()
    assert result.run_id != run_id and not result.resumed
    assert world.fresh()


def left_and_cancelled_for_good() -> tuple[World, str]:
    """A run whose owner has died after its first chunk, and which is to be abandoned."""
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert cut_off(world)
    kept = world.interrupted.run_id
    world.die(world.ports)
    cancel(world, abandon=True)
    return world, kept


def test_a_run_that_is_cancelled_for_good_without_an_owner_is_abandoned_by_the_next() -> None:
    world, kept = left_and_cancelled_for_good()
    assert world.interrupted.run_id == kept
    assert not world.another().resumed
    assert world.fresh()
    assert next(e.outcome for e in world.refreshes.history(NAME) if e.run_id == kept) is Outcome.CANCELLED


def test_the_request_to_abandon_outlives_the_next_owner() -> None:
    world, kept = left_and_cancelled_for_good()
    second = world.process()
    with at(world.lake, "open session"), pytest.raises(Killed):
        Refreshes(second).run(NAME, Request(workers=1))
    world.die(second)
    assert world.interrupted.run_id == kept and world.interrupted.cancelled is not None
    assert not world.another().resumed
    assert world.fresh()


def test_with_spark_at_hand_a_run_is_abandoned_at_once() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert cut_off(world)
    found = Refreshes(world.process()).cancel(NAME, abandon=True, by="ann")
    assert (found.outcome, found.reason) == (RecoveryOutcome.ABANDONED, "cancelled by ann, for good")
    assert world.record.run is None and not world.staged()


def test_a_first_load_that_is_cancelled_for_good_publishes_nothing() -> None:
    world = World(*[row(i) for i in range(9)], **LIVE)
    with at_step(world, "commit /gold", seen_by_its_owner(world, abandon=True), nth=2), pytest.raises(Cancelled):
        world.run()
    assert world.record.published is None and world.record.run is None
    world.another()
    assert world.fresh()


def test_a_request_that_lost_its_race_says_so() -> None:
    world = changed()
    with pytest.raises(Refused) as nothing:
        world.refreshes.cancel(NAME)
    assert nothing.value.code == "nothing_to_cancel"
    world.run()
    ended = world.refreshes.history(NAME)[0].run_id
    with pytest.raises(Refused) as over:
        world.refreshes.cancel(NAME, run_id=ended)
    assert over.value.code == "run_over"
    world.become(row(1, "c"))
    started(world)
    later = world.interrupted
    with pytest.raises(Refused, match="was started since, which is not touched"):
        world.refreshes.cancel(NAME, run_id=ended)
    assert world.interrupted == later


def test_a_request_never_hits_a_run_that_is_started_while_it_is_written() -> None:
    world = changed()
    started(world)
    first = world.interrupted.run_id
    other = world.process()
    real = other.store.commit
    races: list[int] = []

    def commit(*given: Any) -> Any:
        if not races:
            races.append(1)
            Refreshes(world.process()).abandon(NAME, stop=True)
            one_task.start(world.process(), NAME, OTHER)
        return real(*given)

    other.store.commit = commit  # type: ignore[assignment,method-assign]
    with pytest.raises(Refused) as refused:
        Refreshes(other).cancel(NAME)
    assert refused.value.code == "run_over" and first in refused.value.message
    assert world.interrupted.cancelled is None


def test_a_published_run_cannot_be_cancelled() -> None:
    world = changed()
    seen: list[str] = []

    def act() -> None:
        with pytest.raises(Refused) as refused:
            cancel(world)
        seen.append(refused.value.code)

    with at_step(world, "drop memory://staging", act):
        world.run()
    assert seen == ["run_complete"] and world.fresh()


def test_a_request_may_be_repeated_and_made_final() -> None:
    world = changed()
    started(world)
    cancel(world)
    before = world.record
    cancel(world, by="ben")
    assert world.record == before
    cancel(world, abandon=True)
    assert world.interrupted.cancelled is not None and world.interrupted.cancelled.abandon


def test_every_task_of_a_cancelled_run_ends_and_none_resumes_it() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_rest = loaded(world)
    cancel(world)
    kept = world.record
    steps = (lambda: started(world), lambda: loaded(world), lambda: merged(world, first), lambda: finished(world))
    for step in (*steps, lambda: one_task.interrupt(world.process(), NAME, MINE)):
        with pytest.raises(Cancelled):
            step()
    assert world.record == kept
    assert one_task.start(world.process(), NAME, OTHER).run_id == world.interrupted.run_id
    with pytest.raises(Cancelled):
        merged(world, first)


def test_a_unit_stops_in_the_middle() -> None:
    world = changed(**(BY_VNODE | {"vnodes": 2}))
    started(world)
    unit = max(loaded(world), key=lambda u: u.chunks)
    ports = world.process()

    def act() -> None:
        cancel(world)
        assert isinstance(ports.heart, MemoryHeart)
        ports.heart.look()

    with at_step(world, "commit /gold", act), pytest.raises(Cancelled):
        one_task.merge_unit(ports, NAME, MINE, unit.unit)
    assert world.another().resumed
    assert world.fresh()


def test_the_teardown_abandons_what_was_cancelled_for_good_and_a_cleared_dag_run_starts_nothing() -> None:
    world = changed(**BY_VNODE)
    started(world)
    loaded(world)
    cancel(world, abandon=True)
    with pytest.raises(Cancelled):
        one_task.interrupt(world.process(), NAME, MINE)
    assert world.record.run is None and not world.staged()
    with pytest.raises(Cancelled):
        started(world)
    assert started(world, OTHER).resumed is False


def test_recover_leaves_a_cancelled_run_to_a_refresh() -> None:
    world = changed(**LIVE)
    cancelled_after(world, 1)
    [found] = world.refreshes.recover()
    assert found.outcome is RecoveryOutcome.CANCELLED
    cancel(world, abandon=True)
    [found] = world.refreshes.recover()
    assert found.outcome is RecoveryOutcome.ABANDONED
    assert world.record.run is None


def test_a_cancelled_run_shows_and_is_no_failure() -> None:
    world = changed(**LIVE, refresh={"interval": "1 hour", "suspend_after": 1})
    with at_step(world, "commit /gold", seen_by_its_owner(world)), pytest.raises(Cancelled):
        world.run(Request(workers=1, scheduled=True))
    shown = world.refreshes.show(NAME)
    assert (shown.health, shown.suspended, world.record.failures) == (Health.CANCELLED, None, 0)
    assert shown.run is not None and shown.run.cancelled is not None and shown.run.cancelled.by == "ann"
    assert shown.last_run is not None and shown.last_run.outcome is Outcome.CANCELLED
    world.lake.append(INPUT, [row(70)])
    world.another()
    assert world.refreshes.show(NAME).run is None
