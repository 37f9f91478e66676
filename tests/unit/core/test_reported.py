"""An alert is reported when it starts, again while it lasts, and when it is over: not at every look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.run.alert import Alert, News
from airflow_refresh_provider.core.run.alert_reasons import About
from airflow_refresh_provider.core.run.reported import Reported, news
from tests.unit.runner.world import NAME, World, row

NOW = datetime(2024, 1, 10, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SEEN = {NAME: World(row(1)).refreshes.stored(NAME)}


def alert(code: str = "late") -> Alert:
    given: Any = dict.fromkeys(("message", "left", "readers", "clear", "next", "command"), "words")
    return Alert(about=About.LATENESS, name=NAME, code=code, **given)


def looks(*found: tuple[timedelta, Alert | None]) -> list[list[tuple[News | None, str]]]:
    """What is reported at each of some looks, so long after the first."""
    state, reported = Reported(), []
    for after, one in found:
        new, state = news(state, [one] if one else [], SEEN, NOW + after, DAY)
        state = Reported.model_validate_json(state.model_dump_json())  # as it survives the process
        reported.append([(a.news, a.code) for a in new])
    return reported


def test_an_alert_is_reported_once_when_it_starts_and_once_when_it_is_over() -> None:
    found = looks((0 * HOUR, None), (HOUR, alert()), (2 * HOUR, alert()), (3 * HOUR, None), (4 * HOUR, None))
    assert found == [[], [(News.STARTED, "late")], [], [(News.OVER, "late")], []]


def test_one_that_lasts_is_reported_again_after_the_given_time_each_time() -> None:
    hours = (0, 23, 24, 25, 48, 71)
    found = looks(*((hour * HOUR, alert()) for hour in hours))
    assert [[kind for kind, _ in at] for at in found] == [[News.STARTED], [], [News.LASTS], [], [News.LASTS], []]


def test_another_cause_is_another_alert_and_the_one_before_is_not_over() -> None:
    found = looks((0 * HOUR, alert("late_ahead")), (HOUR, alert("late")), (2 * HOUR, alert("late")), (3 * HOUR, None))
    assert found == [[(News.STARTED, "late_ahead")], [(News.STARTED, "late")], [], [(News.OVER, "late")]]


def test_one_that_starts_again_is_reported_again() -> None:
    found = looks((0 * HOUR, alert()), (HOUR, None), (2 * HOUR, alert()))
    assert found[2] == [(News.STARTED, "late")]


def test_nothing_changes_while_nothing_is_reported() -> None:
    _, first = news(Reported(), [alert()], SEEN, NOW, DAY)
    again = news(first, [alert()], SEEN, NOW + HOUR, DAY)
    assert again == ((), first)


def test_what_is_over_says_since_when_it_was_reported_and_how_the_table_is() -> None:
    _, first = news(Reported(), [alert()], SEEN, NOW, DAY)
    _, later = news(first, [alert()], SEEN, NOW + DAY, DAY)
    (over,), _ = news(later, [], SEEN, NOW + 2 * DAY, DAY)
    assert over.since == NOW and "2024-01-10 12:00:00 UTC" in over.message
    assert over.title == "orders: lateness [late], which is over"
    assert "airflow-refresh show orders" in over.text


@pytest.mark.parametrize("looked_at", [{}, {"another": SEEN[NAME]}])
def test_a_definition_that_is_not_looked_at_any_more_is_not_over(looked_at: dict) -> None:
    _, first = news(Reported(), [alert()], SEEN, NOW, DAY)
    assert news(first, [], looked_at, NOW + HOUR, DAY) == ((), Reported())
