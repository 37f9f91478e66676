"""Several refreshes in one process: side by side, upstream first, each with its own result or error."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult
from airflow_refresh_provider.errors import Interrupted
from tests.unit.runner.faults import at
from tests.unit.runner.world import COLUMNS, INPUT, NAME, TARGET, World, definition, row

EVERY = Selection(every=True)
FOUR = Request(workers=4)


def many(count: int = 6) -> World:
    """Definitions of one input, with targets of their own, and one that reads the target of the first."""
    world = World(row(1), row(2))
    for i in range(count):
        world.refreshes.register(definition(name=f"t{i}", target=f"/gold/t{i}", tags=("odd",) if i % 2 else ()))
    world.refreshes.register(definition(name="after", target="/gold/after", inputs={"x": {"path": TARGET}}))
    return world


def outcomes(result: RefreshesResult) -> dict[str, Outcome]:
    return {step.name: step.outcome for step in result.refreshes}


def test_all_are_refreshed_and_upstream_ones_first() -> None:
    world = many()
    result = world.refreshes.run_several(EVERY, FOUR)
    assert result.outcome is Outcome.SUCCEEDED
    assert list(outcomes(result)) == sorted(["after", NAME, *(f"t{i}" for i in range(6))])
    assert set(outcomes(result).values()) == {Outcome.SUCCEEDED}
    assert world.refreshes.run_several(EVERY, FOUR).outcome is Outcome.NOTHING_TO_DO


def test_a_failure_stops_no_other_and_the_worst_outcome_counts() -> None:
    world = many()
    world.lake.create("/lost", COLUMNS)
    world.refreshes.register(definition(name="broken", target="/gold/broken", inputs={"x": {"path": "/lost"}}))
    world.lake.remove("/lost")
    result = world.refreshes.run_several(EVERY, FOUR)
    assert result.outcome is Outcome.FAILED
    failed = [step for step in result.refreshes if step.error]
    assert [(step.name, step.error.code) for step in failed if step.error] == [("broken", "input_missing")]
    assert set(outcomes(result).values()) == {Outcome.SUCCEEDED, Outcome.FAILED}


def test_only_those_that_are_due_are_refreshed() -> None:
    world = many(2)
    world.refreshes.register(definition(name="t1", target="/gold/t1", refresh={"on_change": True}))
    result = world.refreshes.run_several(Selection(("t*",)), FOUR, due=True)
    assert outcomes(result) == {"t0": Outcome.NOTHING_TO_DO, "t1": Outcome.SUCCEEDED}
    assert "it is not due: its schedule is manual" in (result.refreshes[0].reason or "")


def test_a_stop_ends_the_statements_in_progress_and_starts_no_other_refresh() -> None:
    world = many()
    held, released = threading.Event(), threading.Event()

    def step(what: str) -> None:
        if what == "begin /gold/t0":
            held.set()
            assert released.wait(timeout=10)
        elif what == "release session":
            released.set()

    def note(_message: str) -> None:
        assert held.wait(timeout=10)
        raise Interrupted("interrupted", "stopped by SIGINT", left="", next="")

    world.lake.step = step
    world.ports.watch.note = note  # type: ignore[method-assign,assignment]
    with pytest.raises(Interrupted):
        world.refreshes.run_several(Selection(("orders", "t*")), Request(workers=2))
    assert released.is_set()
    done = {record.name for record in world.store.records() if record.published}
    assert NAME in done and not {"t4", "t5"} & done
    assert all(record.run is None or record.run.lease.owner is None for record in world.store.records())


def test_history_and_freshness_of_several() -> None:
    world = many(2)
    world.refreshes.run_several(Selection(("t*",)), FOUR)
    entries: list[Any] = world.refreshes.history_several(EVERY)
    assert {entry.name for entry in entries} == {"t0", "t1"}
    found = world.refreshes.freshness_several(Selection(tags=("odd",)))
    assert [fresh.name for fresh in found] == ["t1"]
    world.lake.remove(INPUT)
    reports = {report.name: report for report in world.refreshes.due_several(Selection(("t*",)))}
    assert reports["t0"].error is not None and (reports["t0"].cause, reports["t0"].due) == ("unknown", False)


def test_a_process_that_dies_leaves_runs_that_the_next_command_resumes() -> None:
    world = many(2)
    with at(world.lake, "begin /gold/t1"), pytest.raises(BaseException):  # noqa: B017, PT011 - Killed is none
        world.refreshes.run_several(EVERY, Request(workers=2))
    world.die(world.ports)
    world.ports = world.process()
    world.refreshes.ports = world.ports
    result = world.refreshes.run_several(EVERY, FOUR)
    assert set(outcomes(result).values()) <= {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
