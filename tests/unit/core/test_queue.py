"""The queue of a definition: its order, its limit, what is equal, and which requests a run serves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.definition.schedule import Schedule
from airflow_refresh_provider.core.run.queue import (
    MOST_WAITING,
    Queue,
    QueuedOptions,
    QueuedRequest,
    in_order,
    placed,
    served,
    without,
)
from airflow_refresh_provider.core.run.request import OnInterrupted, Request, Serves
from airflow_refresh_provider.core.timing.due import Cause, due
from tests.unit.core.test_due import FACTS

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
OF_THE_PROCESS = {
    *("workers", "take_over", "if_running", "origin", "scheduled", "waiting", "priority"),
    *("pins", "only_run"),  # with these nothing waits
}
"""Fields of a request that are no options of the run that serves it, or are stored beside them."""

OPTIONS = st.builds(
    QueuedOptions,
    mode=st.none() | st.sampled_from(Mode),
    force=st.booleans(),
    strict=st.booleans(),
    budget_seconds=st.none() | st.integers(1, 3),
)
REQUESTS = st.lists(st.tuples(OPTIONS, st.integers(1, 100), st.integers(0, 3), st.booleans()), max_size=40).map(
    lambda drawn: [
        asked(n, options, priority, minute, scheduled) for n, (options, priority, minute, scheduled) in enumerate(drawn)
    ]
)


def asked(
    number: int, options: QueuedOptions | None = None, priority: int = 50, minute: int = 0, scheduled: bool = False
) -> QueuedRequest:
    return QueuedRequest(
        id=f"r{number}",
        options=options or QueuedOptions(),
        priority=priority,
        by=f"person {number}",
        at=NOON + timedelta(minutes=minute),
        scheduled=scheduled,
    )


def queue_of(requests: list[QueuedRequest]) -> Queue:
    queue: Queue = ()
    for request in requests:
        if found := placed(queue, request):
            queue = found.queue
    return queue


@given(REQUESTS)
def test_what_waits_is_bounded_in_order_and_no_two_are_equal(requests: list[QueuedRequest]) -> None:
    queue = queue_of(requests)
    assert len(queue) <= MOST_WAITING and queue == in_order(queue)
    assert not any(a.options.equals(b.options) for a in queue for b in queue if a is not b)
    keys = [(-one.priority, one.at) for one in queue]
    assert keys == sorted(keys)


@given(REQUESTS, st.data())
def test_merging_is_idempotent_and_loses_no_urgency(requests: list[QueuedRequest], data: st.DataObject) -> None:
    queue = queue_of(requests)
    if not queue:
        return
    again = data.draw(st.sampled_from(queue)).model_copy(
        update={"id": "again", "priority": data.draw(st.integers(1, 100))}
    )
    once = placed(queue, again)
    assert once is not None and once.merged and len(once.queue) == len(queue)
    assert once.request.priority == max(again.priority, *(o.priority for o in queue if o.id == once.request.id))
    assert placed(once.queue, again) == once


@given(REQUESTS)
def test_served_one_after_the_other_each_is_served_once_and_none_is_lost(requests: list[QueuedRequest]) -> None:
    left = queue_of(requests)
    expected = [one.id for one in left]
    done: list[str] = []
    while left:
        ids = served(left, Request(waiting=Serves.ONLY)).ids
        done += ids
        left = without(left, ids)
    assert done == expected


def test_the_request_after_the_last_place_is_refused_and_an_equal_one_still_merged() -> None:
    full = queue_of([asked(n, QueuedOptions(budget_seconds=n + 1)) for n in range(MOST_WAITING)])
    assert len(full) == MOST_WAITING
    assert placed(full, asked(99, QueuedOptions(force=True))) is None
    same = placed(full, asked(99, QueuedOptions(budget_seconds=3), priority=60))
    assert same is not None and same.merged and same.queue[0].id == "r2"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({}, {}, True),
        ({"budget_bytes": "1 GB"}, {"budget_bytes": "1000 MB"}, True),
        ({"budget_seconds": 60, "no_budget": True}, {"budget_seconds": 60}, True),
        ({"no_budget": True}, {}, False),
        ({"mode": Mode.FULL}, {}, False),
        ({"force": True}, {}, False),
        ({"strict": True}, {}, False),
        ({"until": "06:00"}, {"until": "07:00"}, False),
    ],
)
def test_requests_are_equal_when_one_run_does_what_both_ask(
    one: dict[str, Any], other: dict[str, Any], equal: bool
) -> None:
    assert QueuedOptions(**one).equals(QueuedOptions(**other)) is equal
    assert QueuedOptions(**other).equals(QueuedOptions(**one)) is equal


def test_every_field_of_a_request_is_an_option_of_its_run_or_of_its_process() -> None:
    kept = set(QueuedOptions.model_fields)
    assert kept | OF_THE_PROCESS | {"on_interrupted"} == set(Request.model_fields)
    assert not kept & OF_THE_PROCESS


def test_a_request_by_hand_keeps_its_options_and_serves_an_equal_one() -> None:
    queue = queue_of([asked(1, QueuedOptions(force=True), priority=90), asked(2)])
    own = Request(workers=5, on_interrupted=OnInterrupted.RESTART)
    assert served(queue, own) == (own, ("r2",))
    assert served(queue, Request(strict=True)).ids == ()


@pytest.mark.parametrize("request_", [Request(scheduled=True), Request(waiting=Serves.FIRST)])
def test_what_a_schedule_starts_is_the_first_that_waits(request_: Request) -> None:
    queue = queue_of([asked(1), asked(2, QueuedOptions(mode=Mode.FULL), priority=60, minute=5)])
    found = served(queue, request_.model_copy(update={"workers": 7}))
    assert found.ids == ("r2",)
    assert (found.request.mode, found.request.workers, found.request.scheduled) == (Mode.FULL, 7, False)
    assert served((), request_) == (request_, ())


def test_a_request_with_pins_serves_none_as_they_may_be_older() -> None:
    pin = DeltaPin(location="/in", table_id="t", version=1)
    assert served(queue_of([asked(1)]), Request(scheduled=True, pins={"/in": pin})).ids == ()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({}, Cause.QUEUED),
        ({"behind": ()}, Cause.QUEUED),
        ({"schedule": Schedule()}, Cause.QUEUED),
        ({"ready": Cause.INTERRUPTED}, Cause.QUEUED),
        ({"blocked": Cause.RUNNING}, Cause.RUNNING),
        ({"blocked": Cause.PAUSED}, Cause.PAUSED),
        ({"blocked": Cause.SUSPENDED}, Cause.SUSPENDED),
        ({"ready": Cause.BUDGET_SPENT, "stopped_at": FACTS.now}, Cause.NOT_YET),
    ],
)
def test_a_request_that_waits_is_due_unless_nothing_may_start(changes: dict[str, Any], cause: Cause) -> None:
    assert due(replace(FACTS, queued=True, **changes)).cause is cause
