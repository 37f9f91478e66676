"""Schedules as users write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.errors import Invalid

GOOD = {"name": "a", "target": "/t", "query": "SELECT * FROM x", "inputs": {"x": {"path": "/x"}}, "keys": ["k"]}


def build(refresh: object) -> Definition:
    return Definition.build(**GOOD, refresh=refresh)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("15 minutes", 15), ("1 minute", 1), ("2 h", 120), ("90min", 90), ("1 day 12 hours", 36 * 60), ("1.5 h", 90),
        ("PT15M", 15), ("P1D", 24 * 60), ("1 W", 7 * 24 * 60), ("30 s", 0.5),
    ],
)  # fmt: skip
def test_durations_in_words_and_in_iso(text: str, minutes: float) -> None:
    definition = build({"interval": text})
    assert definition.refresh.interval == timedelta(minutes=minutes)
    assert Definition.model_validate_json(definition.model_dump_json()) == definition


def test_nothing_given_means_by_hand() -> None:
    assert build("manual").refresh.by_hand
    assert Definition.build(**GOOD).refresh.by_hand
    assert not build({"on_change": True}).refresh.by_hand


DURATION = "must be a duration such as 15 minutes, 2 h or PT15M"


@pytest.mark.parametrize(
    ("refresh", "problem"),
    [
        ({"interval": "0 s"}, 'refresh.interval: must be greater than zero (it is "0 s")'),
        ({"interval": "-PT5M"}, "refresh.interval: must be greater than zero"),
        ({"interval": "-5 minutes"}, f"refresh.interval: {DURATION}"),
        ({"interval": 15}, f"refresh.interval: {DURATION} (it is 15)"),
        ({"interval": "15"}, f"refresh.interval: {DURATION}"),
        ({"interval": "3 moons"}, f"refresh.interval: {DURATION}"),
        ({"interval": "PTX"}, f"refresh.interval: {DURATION}"),
        ({"interval": "99999999999999999 days"}, f"refresh.interval: {DURATION}"),
        ({"cron": "0 0 31 2 *"}, "refresh.cron: never occurs"),
        ({"cron": "R R * * *"}, "refresh.cron: must be a cron expression of five fields"),
        ({"cron": "every day"}, "refresh.cron: must be a cron expression of five fields"),
        ({"cron": "0 0 0 1 1 *"}, "refresh.cron: must be a cron expression of five fields"),
        ({"cron": "0 * * * *", "interval": "1 h"}, "refresh: give only one of interval and cron"),
        ({"interval": "1 h", "target_lag": "5 min"}, "refresh: target_lag must not be shorter"),
        ({"on_change": True, "at_most_every": "1 h", "target_lag": "5 min"}, "refresh: target_lag must not be"),
        ({"at_most_every": "1 h"}, "refresh: at_most_every needs on_change: true"),
        ({"every": "1 h"}, "refresh.every: unknown field."),
        ({"suspend_after": 0}, "refresh.suspend_after: must be 1 or more"),
        ("hourly", "refresh: must be a mapping of fields to values"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(refresh: object, problem: str) -> None:
    with pytest.raises(Invalid) as caught:
        build(refresh)
    assert caught.value.message.startswith(problem)
