"""When a refresh is due: the commit times of changes that wait, against what the schedule allows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.schedule import Schedule
from airflow_refresh_provider.core.timing.due import Behind, Cause, DueFacts, describe, due, lag

NOW = datetime(2024, 1, 10, 12, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def behind(applied: int, oldest: int, newest: int, *, triggers: bool = True) -> Behind:
    """Moments in minutes before now."""
    at = {"applied_at": applied, "oldest": oldest, "newest": newest}
    return Behind(name="x", triggers=triggers, **{name: NOW - ago * MINUTE for name, ago in at.items()})


FACTS = DueFacts(
    now=NOW, schedule=Schedule(interval=15 * MINUTE), refreshed_at=NOW - 60 * MINUTE, behind=(behind(20, 10, 10),)
)


@pytest.mark.parametrize(
    ("waiting", "cause", "next_in"),
    [
        ((), Cause.NOTHING_NEW, None),
        ((behind(20, 10, 10),), Cause.NOT_YET, 5),
        ((behind(20, 15, 15),), Cause.INTERVAL, None),
        ((behind(20, 14, 5),), Cause.INTERVAL, None),  # the changes span the interval
        ((behind(20, 14, 6),), Cause.NOT_YET, 1),
        ((behind(20, 16, 16, triggers=False),), Cause.NOTHING_NEW, None),
        ((behind(20, 10, 10), behind(20, 12, 12)), Cause.NOT_YET, 3),
        ((behind(20, -5, -5),), Cause.INTERVAL, None),  # a clock ahead of ours delays nothing for ever
    ],
)
def test_changes_wait_no_longer_than_the_interval(waiting: tuple[Behind, ...], cause: Cause, next_in: int) -> None:
    found = due(replace(FACTS, behind=waiting))
    assert (found.cause, found.next_at) == (cause, NOW + next_in * MINUTE if next_in else None)


@pytest.mark.parametrize(
    ("schedule", "cause", "next_at"),
    [
        ({"cron": "0 * * * *"}, Cause.CRON, None),
        ({"cron": "0 13 * * *"}, Cause.NOT_YET, NOW + 30 * MINUTE),
        ({"on_change": True}, Cause.CHANGED, None),
        ({"on_change": True, "at_most_every": "1 h"}, Cause.CHANGED, None),
        ({"on_change": True, "at_most_every": "2 h"}, Cause.NOT_YET, NOW + 60 * MINUTE),
        ({}, Cause.MANUAL, None),
    ],
)
def test_other_schedules(schedule: dict[str, object], cause: Cause, next_at: datetime | None) -> None:
    found = due(replace(FACTS, schedule=Schedule.model_validate(schedule)))
    assert (found.cause, found.next_at) == (cause, next_at)


@pytest.mark.parametrize("cause", [Cause.SUSPENDED, Cause.PAUSED, Cause.RUNNING])
def test_a_suspended_paused_or_running_definition_is_never_due(cause: Cause) -> None:
    assert due(replace(FACTS, blocked=cause, ready=Cause.INTERRUPTED)).cause is cause


@pytest.mark.parametrize("cause", [Cause.REDEFINED, Cause.INTERRUPTED])
def test_an_interrupted_or_redefined_refresh_is_due_without_changes(cause: Cause) -> None:
    assert due(replace(FACTS, ready=cause, behind=())).cause is cause
    assert due(replace(FACTS, refreshed_at=None)).cause is Cause.FIRST


@pytest.mark.parametrize(
    ("schedule", "cause", "next_at"),
    [
        ({"cron": "0 13 * * *"}, Cause.NOT_YET, NOW + 30 * MINUTE),
        ({"cron": "25 12 * * *"}, Cause.BUDGET_SPENT, None),
        ({"interval": "15 min"}, Cause.NOT_YET, NOW + 5 * MINUTE),
        ({"interval": "10 min"}, Cause.BUDGET_SPENT, None),
        ({"on_change": True, "at_most_every": "1 h"}, Cause.NOT_YET, NOW + 50 * MINUTE),
        ({"on_change": True}, Cause.BUDGET_SPENT, None),
        ({}, Cause.MANUAL, None),
    ],
)
def test_a_run_whose_budget_is_spent_is_continued_at_the_next_time(
    schedule: dict[str, object], cause: Cause, next_at: datetime | None
) -> None:
    stopped = replace(FACTS, ready=Cause.BUDGET_SPENT, stopped_at=NOW - 10 * MINUTE, behind=())
    found = due(replace(stopped, schedule=Schedule.model_validate(schedule)))
    assert (found.cause, found.next_at) == (cause, next_at)
    said = describe(found.cause, (), ready=Cause.BUDGET_SPENT)
    assert "budget" in said


minutes = st.integers(0, 10_000)


@given(st.lists(st.tuples(minutes, minutes, minutes), max_size=4), st.integers(1, 5_000))
def test_due_means_old_enough_or_spread_enough(moments: list[tuple[int, int, int]], interval: int) -> None:
    waiting = tuple(behind(*sorted(three, reverse=True)) for three in moments)
    pause = interval * MINUTE
    found = due(replace(FACTS, schedule=Schedule(interval=pause), behind=waiting))
    expected = any(NOW - b.oldest >= pause or b.newest - b.applied_at >= pause for b in waiting)
    assert found.cause.due == expected
    if found.next_at:
        assert due(replace(FACTS, now=found.next_at, schedule=Schedule(interval=pause), behind=waiting)).cause.due


def test_lag_is_the_age_of_the_oldest_change() -> None:
    assert lag(NOW, []) == timedelta(0)
    assert lag(NOW, [behind(20, 10, 5), behind(20, 12, 1)]) == 12 * MINUTE
    assert timedelta(0) < lag(NOW, [behind(20, -10, -10)]) < timedelta(milliseconds=1)
