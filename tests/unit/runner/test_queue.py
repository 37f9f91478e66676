"""Requests that wait while a run is in progress: how they come, are shown, and are removed."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin, VersionVector
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.queue import MOST_WAITING
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Invalid, Paused, Refused
from airflow_refresh_provider.runner.admin import cancelling
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.phased import finished, loaded, merged, started
from tests.unit.runner.queued import FULL, PLAIN, QUEUE, end, held, ids, interleaved, queued
from tests.unit.runner.world import INPUT, NAME, ONE, World, definition, row


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


def test_a_request_that_comes_as_the_run_ends_starts_instead_of_waiting() -> None:
    world = held()
    result = Refreshes(interleaved(world, lambda: end(world))).run(NAME, FULL)
    assert result.outcome in (Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO)
    assert world.record.run is None and not world.record.queue


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
