"""Requests that wait are served, each once, by whichever process comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.owner import PARKED_FOR, Beat
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import Request, Serves
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.admin import cancelling, queueing
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import LIVE, once
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.phased import changed, loaded, started
from tests.unit.runner.queued import FULL, QUEUE, end, held, ids, interleaved, queued
from tests.unit.runner.test_budget import timed
from tests.unit.runner.world import NAME, ONE, row


def test_a_request_leaves_the_queue_in_the_write_that_starts_its_run() -> None:
    world = held()
    full = queued(world, FULL)
    plain = queued(world)
    assert end(world).requests == ()
    world.become(row(1, "c"))
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.another(ONE.model_copy(update={"waiting": Serves.FIRST}))
    assert (world.interrupted.requests, world.interrupted.plan.mode) == ((full,), Mode.FULL)
    assert ids(world) == [plain]


def test_before_that_write_a_crash_leaves_it_waiting() -> None:
    world = held()
    full = queued(world, FULL)
    end(world)
    world.become(row(1, "c"))
    with at(world.lake, "read input"), pytest.raises(Killed):
        world.another(Request(waiting=Serves.FIRST))
    assert world.record.run is None and ids(world) == [full]
    [step] = Refreshes(world.process()).run_waiting(NAME).refreshes
    assert step.result is not None and step.result.requests == (full,)
    assert world.fresh()


def test_the_process_that_takes_the_queue_serves_each_request_once_and_the_history_names_it() -> None:
    world = held()
    plain, full = queued(world), queued(world, FULL.model_copy(update={"priority": 60}))
    end(world)
    world.become(row(1, "c"))
    steps = Refreshes(world.process()).run_waiting(NAME).refreshes
    assert [(s.outcome, s.result.requests) for s in steps if s.result] == [
        (Outcome.SUCCEEDED, (full,)),
        (Outcome.NOTHING_TO_DO, (plain,)),
    ]
    assert not world.record.queue and world.fresh()
    assert [entry.requests for entry in world.refreshes.history(NAME)] == [(full,), (), ()]
    assert Refreshes(world.process()).run_waiting(NAME).refreshes == ()


def test_of_two_processes_that_take_the_queue_one_serves_a_request() -> None:
    world = held()
    full = queued(world, FULL)
    end(world)
    world.become(row(1, "c"))
    other: list[RunResult] = []

    def first() -> None:
        other.append(world.another(Request(waiting=Serves.ONLY)))

    mine = Refreshes(interleaved(world, first)).run(NAME, Request(waiting=Serves.ONLY, workers=1))
    assert (other[0].requests, mine.requests) == ((full,), ())
    assert (mine.outcome, mine.reason) == (Outcome.NOTHING_TO_DO, "no request waits")


def test_a_refresh_by_hand_keeps_its_options_and_serves_an_equal_request() -> None:
    world = held()
    full, plain = queued(world, FULL.model_copy(update={"priority": 99})), queued(world)
    end(world)
    world.become(row(1, "c"))
    result = world.another()
    assert (result.requests, ids(world)) == ((plain,), [full])


def test_a_scheduled_run_serves_the_first_with_its_options_and_by_hand() -> None:
    world = held(mode="incremental")
    full = queued(world, FULL)
    end(world)
    world.become(row(1, "c"))
    mine = Request(origin="dag/later", scheduled=True, strict=False)
    started(world, mine)
    run = world.interrupted
    assert (run.requests, run.plan.mode, run.scheduled, run.origin) == ((full,), Mode.FULL, False, "dag/later")


def test_what_a_queued_request_asks_stays_when_a_task_is_tried_again() -> None:
    world = held(mode="incremental")
    queued(world, Request(strict=True, if_running=QUEUE))
    end(world)
    world.become(row(1, "c"))
    mine = Request(origin="dag/later", scheduled=True)
    started(world, mine)
    with at(world.lake, "begin memory://staging"), pytest.raises(Killed):
        loaded(world, mine)
    loaded(world, mine)
    assert world.interrupted.plan.strict


def test_an_interrupted_run_goes_first() -> None:
    world = changed(**LIVE)
    holder = world.process()
    with at(world.lake, "commit /gold", nth=2), pytest.raises(Killed):
        Refreshes(holder).run(NAME, ONE)
    run_id = world.interrupted.run_id
    full = queued(world, FULL)
    world.die(holder)
    steps = Refreshes(world.process()).run_waiting(NAME).refreshes
    found = [(s.result.run_id == run_id, s.result.requests) for s in steps if s.result]
    assert found == [(True, ()), (False, (full,))]
    assert not world.record.queue


def test_a_run_that_was_cancelled_is_not_resumed_for_the_queue() -> None:
    world = held()
    one = queued(world)
    cancelling.request_cancel(world.process(), NAME, None, abandon=False, by="ann")
    assert Refreshes(world.process()).run_waiting(NAME, wait=True).refreshes == ()
    assert world.interrupted.cancelled and ids(world) == [one]


def test_a_run_whose_budget_is_spent_is_not_resumed_for_the_queue() -> None:
    world = changed(**LIVE)
    asked: list[str] = []

    def act() -> None:
        asked.append(queued(world))
        timed(world)

    world.lake.step = once(world, "begin /gold", act)
    assert world.run(Request(workers=1, budget_seconds=90)).outcome is Outcome.BUDGET_SPENT
    assert Refreshes(world.process()).run_waiting(NAME, wait=True).refreshes == ()
    assert world.interrupted.stopped and ids(world) == asked


def test_a_request_whose_run_cannot_start_leaves_its_place_to_the_next() -> None:
    world = held()
    queued(world, FULL.model_copy(update={"strict": True, "priority": 90}))
    full = queued(world, FULL)
    end(world)
    world.become(row(1, "c"))
    refused, after = Refreshes(world.process()).run_waiting(NAME).refreshes
    assert refused.error is not None and refused.error.code == "full_refresh_needed"
    assert after.result is not None and (after.outcome, after.result.requests) == (Outcome.SUCCEEDED, (full,))
    assert not world.record.queue and world.fresh()


def test_why_a_request_could_not_start_is_stored_for_who_has_asked() -> None:
    world = held()
    queued(world, FULL.model_copy(update={"strict": True}))
    end(world)
    world.become(row(1, "c"))
    Refreshes(world.process()).run_waiting(NAME)
    last = world.record.last_run
    assert last is not None and (last.outcome, last.code) == (Outcome.REFUSED, "full_refresh_needed")


class _Lively:
    """A store in which the owner of a run gives signs of life for ever."""

    def __init__(self, ports: Ports, run: Run) -> None:
        self._ports, self._run = ports, run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ports.store, name)

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]:
        return (Beat(generation=self._run.generation, at=self._ports.clock.now()),)


def test_waiting_for_the_run_in_progress_has_a_limit_and_keeps_what_waits() -> None:
    world = changed(**LIVE)
    with at(world.lake, "commit /gold", nth=2), pytest.raises(Killed):
        world.run()
    one = queued(world)
    ports = world.process()
    lively = replace(ports, store=_Lively(ports, world.interrupted))
    before = ports.clock.now()
    assert queueing.run_waiting(lively, NAME, 1, wait=False) == []
    assert ports.clock.now() == before
    assert queueing.run_waiting(lively, NAME, 1, wait=True) == []
    assert ports.clock.now() - before >= queueing.LONGEST_WAIT and ids(world) == [one]


def test_who_waits_for_the_run_in_progress_goes_on_once_its_tasks_come_no_more() -> None:
    world = held()
    queued(world)
    ports = world.process()
    before = ports.clock.now()
    steps = queueing.run_waiting(ports, NAME, 1, wait=True)
    assert steps and not world.record.queue
    assert PARKED_FOR <= ports.clock.now() - before < queueing.LONGEST_WAIT


def test_a_refresh_with_nothing_to_do_is_not_skipped_while_a_request_waits() -> None:
    world = held()
    queued(world)
    end(world)
    assert world.refreshes.not_needed(NAME, Request()) is None
    world.another()
    assert world.refreshes.not_needed(NAME, Request()) is not None
