"""Requests that wait while a run is in progress: each is served once, by whichever process comes next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_refresh_provider.core.changes.pins import DeltaPin, VersionVector
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.owner import PARKED_FOR, Beat
from airflow_refresh_provider.core.run.queue import MOST_WAITING
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import IfRunning, Request, Serves
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.errors import Invalid, Paused, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.admin import cancelling, queueing
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import LIVE, once
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.phased import changed, finished, loaded, merged, started
from tests.unit.runner.test_budget import timed
from tests.unit.runner.world import INPUT, NAME, ONE, World, definition, row

QUEUE = IfRunning.QUEUE
FULL = Request(workers=1, mode=Mode.FULL, if_running=QUEUE)
PLAIN = Request(workers=1, if_running=QUEUE)


def held(**options: Any) -> World:
    """A definition with a run that the tasks of a DAG run hold."""
    world = changed(**options)
    started(world)
    return world


def end(world: World) -> RunResult:
    """The tasks of that DAG run come to their end."""
    for unit in loaded(world):
        merged(world, unit)
    return finished(world)


def queued(world: World, request: Request = PLAIN) -> str:
    """The id of the request that another process lets wait."""
    result = world.another(request)
    assert result.outcome is Outcome.QUEUED
    return result.requests[0]


def ids(world: World) -> list[str]:
    return [one.id for one in world.record.queue]


def test_a_request_waits_in_the_record_and_the_answer_says_as_which() -> None:
    world = held()
    result = world.another(FULL.model_copy(update={"priority": 70, "origin": "dag/other"}))
    [one] = world.record.queue
    assert result.outcome is Outcome.QUEUED and result.requests == (one.id,)
    assert result.reason is not None and f"it waits as request {one.id}, number 1 of 1" in result.reason
    assert (one.options.mode, one.priority, one.origin) == (Mode.FULL, 70, "dag/other")
    assert (one.by.startswith("process "), one.at) == (True, world.ports.clock.now())
    assert world.refreshes.history(NAME)[0].outcome is Outcome.SUCCEEDED


def test_an_equal_request_is_merged_with_the_one_that_waits() -> None:
    world = held()
    first = queued(world)
    again = world.another(PLAIN.model_copy(update={"priority": 80, "workers": 4}))
    assert again.requests == (first,) and again.reason is not None and "an equal request waits already" in again.reason
    assert [(one.id, one.priority) for one in world.record.queue] == [(first, 80)]
    assert queued(world, FULL) != first


def test_one_more_than_may_wait_is_refused_and_the_others_stay() -> None:
    world = held()
    for seconds in range(1, MOST_WAITING + 1):
        queued(world, PLAIN.model_copy(update={"budget_seconds": seconds}))
    before = world.record.queue
    with pytest.raises(Refused) as refused:
        world.another(FULL)
    assert refused.value.code == "queue_full" and world.record.queue == before


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


class _Late:
    """A store before whose first write another process acts."""

    def __init__(self, store: Any, act: Callable[[], object]) -> None:
        self._store = store
        self._act: Callable[[], object] | None = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, *given: Any) -> Any:
        act, self._act = self._act, None
        if act:
            act()
        return self._store.commit(*given)


def interleaved(world: World, act: Callable[[], object]) -> Ports:
    """A process before whose first write another one acts: between its decision and that write."""
    ports = world.process()
    return replace(ports, store=_Late(ports.store, act))


def test_a_request_that_comes_as_the_run_ends_starts_instead_of_waiting() -> None:
    world = held()
    result = Refreshes(interleaved(world, lambda: end(world))).run(NAME, FULL)
    assert result.outcome in (Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO)
    assert world.record.run is None and not world.record.queue


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


def test_what_waits_is_due_whatever_the_schedule_says_and_names_its_reason() -> None:
    world = held()
    queued(world)
    assert world.refreshes.due(NAME).cause != "queued"
    end(world)
    report = world.refreshes.due(NAME)
    assert (report.due, report.cause) == (True, "queued")
    found = world.refreshes.run_several(Selection((NAME,)), ONE, due=True)
    assert found.outcome is Outcome.NOTHING_TO_DO and not world.record.queue
    assert not world.refreshes.due(NAME).due


def test_a_refresh_with_nothing_to_do_is_not_skipped_while_a_request_waits() -> None:
    world = held()
    queued(world)
    end(world)
    assert world.refreshes.not_needed(NAME, Request()) is None
    world.another()
    assert world.refreshes.not_needed(NAME, Request()) is not None


def test_a_cancellation_and_a_pause_keep_the_queue_and_a_drop_empties_it() -> None:
    world = held()
    one = queued(world)
    cancelling.request_cancel(world.process(), NAME, None, abandon=False, by="ann")
    world.refreshes.pause(NAME)
    assert ids(world) == [one]
    with pytest.raises(Paused):
        world.another(FULL)
    world.refreshes.resume(NAME)
    world.refreshes.drop(NAME, stop=True)
    assert not world.record.queue
    with pytest.raises(Invalid):
        world.refreshes.queue(NAME)
    world.refreshes.register(definition())
    assert world.refreshes.queue(NAME) == []


def test_what_waits_is_listed_in_order_and_can_be_removed() -> None:
    world = held()
    plain, full = queued(world), queued(world, FULL.model_copy(update={"priority": 60}))
    listed = world.refreshes.queue()
    assert [(one.name, one.place, one.id) for one in listed] == [(NAME, 1, full), (NAME, 2, plain)]
    assert world.refreshes.queue(NAME) == listed
    removed = world.refreshes.unqueue(NAME, full)
    assert (removed.request.id, removed.waiting, ids(world)) == (full, 1, [plain])
    with pytest.raises(Refused, match="was removed") as again:
        world.refreshes.unqueue(NAME, full)
    assert again.value.code == "not_waiting"


def test_removing_a_request_whose_run_was_started_says_so() -> None:
    world = held()
    full = queued(world, FULL)
    end(world)
    world.become(row(1, "c"))
    later = started(world, Request(origin="dag/later", scheduled=True))
    with pytest.raises(Refused, match=f"run {later.run_id} was started for it") as late:
        world.refreshes.unqueue(NAME, full)
    assert "cancel" in late.value.next
    end_later(world)
    with pytest.raises(Refused, match=f"run {later.run_id} was started for it and is over: succeeded"):
        world.refreshes.unqueue(NAME, full)


def end_later(world: World) -> None:
    mine = Request(origin="dag/later", scheduled=True)
    for unit in loaded(world, mine):
        merged(world, unit, mine)
    finished(world, mine)


def test_nothing_waits_in_a_cascade_whose_pins_may_be_older() -> None:
    world = held()
    pins: VersionVector = {INPUT: DeltaPin(location=INPUT, table_id="x", version=1)}
    with pytest.raises(Refused) as refused:
        world.another(Request(if_running=QUEUE, pins=pins))
    assert refused.value.code == "already_running" and not world.record.queue


def test_what_is_about_the_run_in_progress_alone_does_not_wait_for_it() -> None:
    world = held()
    run = world.record.run
    assert run is not None
    with pytest.raises(Refused):
        world.another(Request(if_running=QUEUE, only_run=run.run_id))
    assert not world.record.queue


def test_status_counts_what_waits() -> None:
    world = held()
    one = queued(world)
    assert [r.id for r in world.refreshes.show(NAME).queue] == [one]
    assert [r.id for r in world.refreshes.stored(NAME).queue] == [one]


POINTS = st.none() | st.sampled_from(["read input", "read facts", "open session", "commit"])
ACTS = st.lists(
    st.tuples(st.just("ask"), st.integers(1, 4))
    | st.tuples(st.just("serve"), POINTS)
    | st.tuples(st.sampled_from(["by hand", "end"]), st.none()),
    max_size=12,
)


def answered_without_a_run(world: World, crash_at: str | None) -> list[str]:
    """Take the queue in a process that may crash; the ids of the requests for which nothing was to do."""
    process = world.process()
    with at(world.lake, crash_at or "no such step"):
        try:
            steps = Refreshes(process).run_waiting(NAME).refreshes
        except Killed:
            world.die(process)
            return []
    idle = [step.result for step in steps if step.result and step.outcome is Outcome.NOTHING_TO_DO]
    return [one for result in idle for one in result.requests]


@given(ACTS)
@settings(max_examples=60, deadline=None)
def test_if_processes_crash_each_request_waits_or_was_served_once(acts: list[tuple[str, Any]]) -> None:
    world = held()
    asked: set[str] = set()
    idle: list[str] = []
    for number, (what, how) in enumerate(acts):
        if what == "ask":
            result = world.another(PLAIN.model_copy(update={"budget_seconds": 10**6 * how}))
            asked |= set(result.requests)
            idle += result.requests if result.outcome is Outcome.NOTHING_TO_DO else ()
        elif what == "serve":
            idle += answered_without_a_run(world, how)
        elif what == "by hand":
            world.become(row(number))
        elif world.record.run and world.record.run.origin:
            end(world)
    served = [one for entry in world.refreshes.history(NAME) for one in entry.requests]
    served += world.record.run.requests if world.record.run else ()
    assert sorted([*ids(world), *served, *idle]) == sorted(asked)
