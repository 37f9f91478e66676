"""A budget: a run stops between two chunks, readers see no half of it, and the next run continues it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.core.timing.cascade import stopped_upstream
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.run_details import run_detail
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.runner.steps.budgets import BudgetSpent
from airflow_refresh_provider.testing.memory_ports import BEGINNING, MemoryClock
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.disturbed import LIVE, changed
from tests.unit.runner.phased import BY_VNODE, MINE
from tests.unit.runner.world import NAME, TARGET, World, definition, row

MINUTES = {"budget": {"seconds": 150}}
ONE = Request(workers=1)


def clock_of(ports: Ports) -> MemoryClock:
    assert isinstance(ports.clock, MemoryClock)
    return ports.clock


def timed(world: World, *clocks: MemoryClock) -> None:
    """Each chunk takes a minute."""

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            for clock in clocks or (clock_of(world.ports),):
                clock.sleep(60)

    world.lake.step = step


@pytest.mark.parametrize("options", [LIVE, LIVE | {"layout": "vnode", "vnodes": 4}], ids=["plain", "vnodes"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_stops_when_its_time_is_over_and_the_next_one_continues_it(options: dict[str, Any], workers: int) -> None:
    world = changed(**options, **MINUTES)
    before = world.target(world.refreshes.published(NAME).version)
    timed(world)
    request = Request(workers=workers)
    result = world.run(request)
    assert (result.outcome, result.run_id) == (Outcome.BUDGET_SPENT, world.interrupted.run_id)
    assert result.reason and "its budget is spent (150 seconds): " in result.reason
    assert 0 < result.chunks.done < len([c for u in world.interrupted.frozen.current.units for c in u.chunks])  # type: ignore[union-attr]
    assert world.target(world.refreshes.published(NAME).version) == before != world.target()
    assert (world.record.failures, world.interrupted.failed_in, world.interrupted.lease.owner) == (0, None, None)
    outcomes = []
    while world.record.run:
        outcomes.append(world.run(request))
    assert outcomes[-1].outcome is Outcome.SUCCEEDED and outcomes[-1].run_id == result.run_id
    assert outcomes[0].resumed and world.fresh()
    assert [entry.outcome for entry in world.refreshes.history(NAME)] == [Outcome.SUCCEEDED, Outcome.SUCCEEDED]


def test_a_run_that_comes_to_its_end_is_published_although_its_budget_is_spent() -> None:
    world = changed(**LIVE, budget={"seconds": 60 * 60})
    timed(world)
    assert world.run().outcome is Outcome.SUCCEEDED
    assert world.fresh()


def test_a_time_of_day_is_the_next_one_after_the_start_of_each_attempt() -> None:
    at = BEGINNING + timedelta(seconds=150)
    world = changed(**LIVE, budget={"until": f"{BEGINNING + timedelta(minutes=3):%H:%M}"})
    timed(world)
    assert at.second  # chunks end on full minutes
    assert world.run().outcome is Outcome.BUDGET_SPENT
    budget = world.interrupted.budget
    assert budget is not None and budget.until == (BEGINNING + timedelta(minutes=3)).replace(second=0)
    assert world.run().outcome is Outcome.SUCCEEDED  # until tomorrow


def test_a_budget_that_is_too_small_for_any_chunk_still_lets_each_run_apply_one() -> None:
    world = changed(**LIVE, budget={"seconds": 1})
    timed(world)
    done: list[int] = []
    while world.record.run or not done:
        done.append(world.run().chunks.done)
    assert done == list(range(1, len(done) + 1)) and len(done) > 3
    assert world.fresh()


def test_bytes_are_those_that_the_chunks_of_this_attempt_have_written() -> None:
    world = changed(**LIVE)
    small = Request(workers=1, budget_bytes="1 B")
    for _ in range(2):
        before = len(world.commits)
        result = world.run(small)
        *others, last = [
            commit.bytes_added for commit in world.commits[before:] if not commit.note or "chunk" in commit.note
        ]
        assert (result.outcome, sum(others)) == (Outcome.BUDGET_SPENT, 0) and last > 0
        assert result.reason and f"({last} bytes of 1)" in result.reason
    assert world.run(Request(workers=1, budget_bytes="1 TB")).outcome is Outcome.SUCCEEDED
    assert world.fresh()


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (Request(workers=1, no_budget=True), Outcome.SUCCEEDED),
        (Request(workers=1, budget_seconds=9999), Outcome.SUCCEEDED),
        (Request(workers=1, until="00:00"), Outcome.SUCCEEDED),
        (Request(workers=1), Outcome.BUDGET_SPENT),
    ],
)
def test_a_request_replaces_the_budget_of_the_definition(request_: Request, outcome: Outcome) -> None:
    world = changed(**LIVE, **MINUTES)
    timed(world)
    assert world.run(request_).outcome is outcome


def phase(world: World, clock: MemoryClock) -> Ports:
    """A process whose clock is this one."""
    return replace(world.process(), clock=clock)


def phases(world: World, clock: MemoryClock, request: Request = MINE) -> list[str]:
    """The tasks of a DAG run one after the other; which units stopped."""
    one_task.start(phase(world, clock), NAME, request)
    return phases_after_start(world, clock, request)


def phases_after_start(world: World, clock: MemoryClock, request: Request = MINE) -> list[str]:
    stopped = []
    for unit in one_task.fill(phase(world, clock), NAME, request):
        try:
            one_task.merge_unit(phase(world, clock), NAME, request, unit.unit)
        except BudgetSpent as spent:
            stopped.append(str(spent))
    return stopped


def vnodes(**options: Any) -> tuple[World, MemoryClock]:
    world = World(*[row(i) for i in range(9)], **BY_VNODE, **options)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    clock = MemoryClock()
    timed(world, clock)
    return world, clock


def test_tasks_of_a_dag_run_share_the_budget_and_end_well() -> None:
    world, clock = vnodes(**MINUTES)
    assert phases(world, clock) and world.interrupted.lease.parked_until
    result = one_task.finish(phase(world, clock), NAME, MINE)
    assert result.outcome is Outcome.BUDGET_SPENT
    assert not one_task.interrupt(phase(world, clock), NAME, MINE), "there is nothing to release, and no failure"
    assert world.interrupted.stopped == "150 seconds"
    left = Request(origin="dag/two", no_budget=True)
    assert phases(world, clock, left) == []
    assert one_task.finish(phase(world, clock), NAME, left).outcome is Outcome.SUCCEEDED
    assert world.fresh()


def test_a_task_that_is_tried_again_does_not_get_the_budget_again() -> None:
    world, clock = vnodes(**MINUTES)
    one_task.start(phase(world, clock), NAME, MINE)
    since = world.interrupted.budget
    clock.sleep(100)
    one_task.interrupt(phase(world, clock), NAME, MINE)
    one_task.start(phase(world, clock), NAME, MINE)
    assert world.interrupted.budget == since is not None
    phases(world, clock)
    one_task.finish(phase(world, clock), NAME, MINE)
    one_task.start(phase(world, clock), NAME, MINE)
    cleared = world.interrupted.budget
    assert cleared and since and cleared.spent is None and cleared.since > since.since, "it continues"


def test_a_run_that_fails_beside_a_spent_budget_has_failed() -> None:
    world, clock = vnodes(**MINUTES)
    assert phases(world, clock)
    assert world.interrupted.budget and world.interrupted.budget.spent
    assert one_task.interrupt(phase(world, clock), NAME, MINE), "the teardown, before `finish` has run"
    assert world.interrupted.stopped is None
    assert world.refreshes.show(NAME).health is Health.INTERRUPTED
    one_task.start(phase(world, clock), NAME, MINE)
    assert phases_after_start(world, clock), "a task that is tried again has no new budget"
    assert one_task.finish(phase(world, clock), NAME, MINE).outcome is Outcome.BUDGET_SPENT


def test_units_that_are_missing_for_another_reason_are_a_failure_still() -> None:
    world, clock = vnodes(**MINUTES)
    one_task.start(phase(world, clock), NAME, MINE)
    one_task.fill(phase(world, clock), NAME, MINE)
    with pytest.raises(Exception, match="not in the target"):
        one_task.finish(phase(world, clock), NAME, MINE)


def test_what_is_downstream_of_a_run_that_stopped_is_skipped_in_its_cascade() -> None:
    world = changed(**LIVE, **MINUTES)
    timed(world)
    copy = {"name": "copy", "target": "/gold/copy", "inputs": {"x": {"path": TARGET}}, "query": "SELECT * FROM x"}
    world.refreshes.register(definition(**copy))
    world.refreshes.register(
        definition(**copy | {"name": "b", "target": "/b", "inputs": {"x": {"path": "/gold/copy"}}})
    )
    found = world.refreshes.cascade(["b"], ONE)
    assert (found.outcome, [step.outcome for step in found.refreshes]) == (
        Outcome.SKIPPED,
        [Outcome.BUDGET_SPENT, Outcome.SKIPPED, Outcome.SKIPPED],
    )
    records = {record.name: record for record in world.store.records()}
    assert stopped_upstream("b", records, None) == ("orders",)
    assert stopped_upstream("b", records, "another DAG run") == ()
    pins = {pin.location: pin for pin in world.interrupted.plan.pins.values()}
    mine = replace_origin(world, "dag/one")
    for name in ("copy", "b"):
        result = one_task.start(world.process(), name, Request(origin=mine, pins=pins))
        assert isinstance(result, RunResult) and result.outcome is Outcome.SKIPPED
        assert result.reason == "orders upstream of it was not refreshed: its budget is spent"


def replace_origin(world: World, origin: str) -> str:
    """Let the run be one that has stopped for this origin."""
    world.run(Request(workers=1, origin=origin))
    assert world.interrupted.stopped and world.interrupted.origin == origin
    return origin


def test_status_progress_and_tables_say_that_it_stopped_and_continues() -> None:
    world = changed(**LIVE, **MINUTES, throttle=1_000_000, refresh={"cron": "0 0 * * *"})
    timed(world)
    assert world.run().outcome is Outcome.BUDGET_SPENT
    found = world.refreshes.show(NAME)
    assert (found.health, found.throttle, found.status) == (Health.BUDGET_SPENT, 1_000_000, "FinishingSnapshot")
    assert found.due is not None
    assert (found.due.due, found.due.cause) == (False, "not_yet")
    assert found.due.reason == "the budget of its run is spent; the next run continues it"
    assert found.last_run is not None and (found.last_run.outcome, found.last_run.failed) == (
        Outcome.BUDGET_SPENT,
        False,
    )
    cells = {line[0]: line[1] for line in table_of(found).rows}
    assert str(cells["status"]).startswith("stopped: budget spent, 3 of ")
    assert (cells["budget"], cells["throttle"]) == ("spent (150 seconds); the next run continues", "1,000,000 rows/s")
    assert cells["why"] == cells["budget"]
    progress = world.refreshes.progress(NAME)
    assert (progress.outcome, progress.throttle) == (Outcome.BUDGET_SPENT, 1_000_000)
    assert progress.budget and progress.budget.spent == "150 seconds"
    assert "spent (150 seconds)" in str(table_of(progress))
    detail = run_detail(world.ports, NAME, world.interrupted.run_id)
    assert (detail.budget, detail.throttle, detail.error) == (progress.budget, 1_000_000, None)


def test_a_run_that_is_continued_no_longer_says_that_it_stopped() -> None:
    world = changed(**LIVE, **MINUTES)
    timed(world)
    world.run()
    seen: list[tuple[Health | None, Outcome | None, str | None]] = []

    def look(what: str) -> None:
        if what.startswith("commit /gold"):
            other = Refreshes(world.process())
            progress = other.progress(NAME)
            seen.append((other.show(NAME).health, progress.outcome, progress.budget.spent if progress.budget else None))

    world.lake.step = look
    world.run()
    assert set(seen) == {(Health.RUNNING, None, None)}


def test_recover_leaves_a_run_whose_budget_is_spent() -> None:
    world = changed(**LIVE, **MINUTES)
    timed(world)
    world.run()
    assert [r.outcome for r in world.refreshes.recover()] == ["budget_spent"]
    assert world.record.run


def test_a_run_that_was_stopped_can_be_abandoned_and_dropped() -> None:
    for end in (lambda r: r.abandon(NAME), lambda r: r.drop(NAME)):
        ended: Callable[[Refreshes], object] = end
        world = changed(**LIVE, **MINUTES)
        timed(world)
        world.run()
        ended(world.refreshes)
        assert world.record.run is None
        assert world.refreshes.history(NAME)[0].outcome is Outcome.ABANDONED
