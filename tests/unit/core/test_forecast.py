"""When a table becomes late, when its run ends, and which changes are lost before the next refresh."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.durations import Usual
from airflow_refresh_provider.core.run.forecast import ForecastFacts, RunAhead, forecast
from airflow_refresh_provider.core.run.freshness_state import FreshnessState, freshness_state

NOW = datetime(2024, 1, 10, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FACTS = ForecastFacts(now=NOW, target_lag=30 * MINUTE, oldest=NOW - 10 * MINUTE, next_at=NOW + 10 * MINUTE)
"""It becomes late in 20 minutes; the next refresh is due in 10."""


def took(seconds: float) -> Usual:
    return Usual(seconds=seconds, mode=Mode.FULL, runs=3)


def test_a_table_becomes_late_its_target_lag_after_its_oldest_change() -> None:
    found = forecast(FACTS)
    assert (found.late_at, found.will_be_late, found.expected_end) == (NOW + 20 * MINUTE, False, None)


@pytest.mark.parametrize("facts", [replace(FACTS, target_lag=None), replace(FACTS, oldest=None)])
def test_a_table_without_a_limit_or_without_changes_does_not_become_late(facts: ForecastFacts) -> None:
    found = forecast(replace(facts, halted=True))
    assert (found.late_at, found.will_be_late) == (None, False)


@pytest.mark.parametrize(
    ("facts", "late"),
    [
        (replace(FACTS, usual=took(599)), False),
        (replace(FACTS, usual=took(601)), True),
        (replace(FACTS, next_at=NOW + 21 * MINUTE), True),
        (replace(FACTS, next_at=None), False),  # when it is refreshed is not known
        (replace(FACTS, next_at=None, halted=True), True),  # not before it is resumed
        (replace(FACTS, next_at=NOW - 60 * MINUTE, usual=took(60)), False),  # due, and may start now
        (replace(FACTS, next_at=NOW - 60 * MINUTE, usual=took(1201)), True),
        (replace(FACTS, oldest=NOW - 31 * MINUTE, halted=True), False),  # it is late already
    ],
)
def test_a_table_will_be_late_where_no_refresh_is_expected_to_end_before(facts: ForecastFacts, late: bool) -> None:
    assert forecast(facts).will_be_late is late


@pytest.mark.parametrize(
    ("run", "usual", "end", "late"),
    [
        (RunAhead(NOW, seconds_left=1100), None, NOW + timedelta(seconds=1100), False),
        (RunAhead(NOW, seconds_left=1201), None, NOW + timedelta(seconds=1201), True),
        (RunAhead(NOW - 5 * MINUTE), 600, NOW + 5 * MINUTE, False),
        (RunAhead(NOW - 5 * MINUTE, seconds_left=1500), 600, NOW + 25 * MINUTE, True),
        (RunAhead(NOW - 5 * MINUTE), 240, None, False),  # longer than usual: its end is not known
        (RunAhead(NOW - 5 * MINUTE), None, None, False),
    ],
)
def test_a_run_in_progress_decides_instead_of_the_next_one(
    run: RunAhead, usual: float | None, end: datetime | None, late: bool
) -> None:
    found = forecast(replace(FACTS, run=run, usual=took(usual) if usual else None, next_at=None))
    assert (found.expected_end, found.will_be_late) == (end, late)
    assert (found.usual is None) == (end is None or run.seconds_left is not None)


@pytest.mark.parametrize(
    ("lost_in", "facts", "before"),
    [
        (11, FACTS, False),
        (9, FACTS, True),
        (11, replace(FACTS, usual=took(90)), True),
        (10_000, replace(FACTS, next_at=None), False),
        (10_000, replace(FACTS, next_at=None, halted=True), True),
        (-1, FACTS, True),
        (5, replace(FACTS, run=RunAhead(NOW, seconds_left=240)), False),
        (5, replace(FACTS, run=RunAhead(NOW, seconds_left=360)), True),
        (5, replace(FACTS, run=RunAhead(NOW, seconds_left=360, staged=True)), False),
        (-1, replace(FACTS, run=RunAhead(NOW, staged=True)), False),
    ],
)
def test_changes_are_lost_that_expire_before_a_refresh_has_read_them(
    lost_in: int, facts: ForecastFacts, before: bool
) -> None:
    found = forecast(replace(facts, lost_at={"x": NOW + lost_in * MINUTE}))
    assert [(one.name, one.before_next) for one in found.inputs] == [("x", before)]
    assert [one.name for one in found.lost_before_next] == ["x"] * before


def test_what_is_lost_first_comes_first() -> None:
    found = forecast(replace(FACTS, lost_at={"x": NOW + 2 * MINUTE, "y": NOW + MINUTE, "z": NOW + 60 * MINUTE}))
    assert [one.name for one in found.lost_before_next] == ["y", "x"]


@pytest.mark.parametrize(
    ("lag", "facts", "expected"),
    [
        (0.0, {}, FreshnessState.FRESH),
        (9.0, {"limited": True}, FreshnessState.FRESH),
        (9.0, {}, FreshnessState.STALE),
        (9.0, {"live": True}, FreshnessState.RECOVERING),
        (9.0, {"limited": True, "late": True}, FreshnessState.LATE),
        (9.0, {"limited": True, "late": True, "live": True}, FreshnessState.RECOVERING),
        (0.0, {"live": True}, FreshnessState.FRESH),
        (None, {}, FreshnessState.UNKNOWN),
        (None, {"limited": True, "late": True}, FreshnessState.LATE),
        (9.0, {"known": False, "late": True}, FreshnessState.UNKNOWN),
    ],
)
def test_how_fresh_a_target_is_in_one_word(lag: float | None, facts: dict[str, bool], expected: FreshnessState) -> None:
    given = {"known": True, "late": False, "limited": False, "live": False} | facts
    assert freshness_state(lag, **given) is expected
