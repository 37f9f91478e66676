"""Alerts ahead: lateness and lost changes are reported before they happen, and failures without Airflow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.run.alert import Alert, of_state
from airflow_refresh_provider.core.run.alert_reasons import About
from airflow_refresh_provider.core.run.freshness_state import FreshnessState
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_ports import MemoryClock
from tests.unit.runner.phased import MINE
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row

HOUR = timedelta(hours=1)


def world(**refresh: Any) -> World:
    """A refreshed target whose input changes now."""
    made = World(row(1), refresh=refresh)
    made.run()
    made.lake.append(INPUT, [row(2)])
    made.lake.times[INPUT, made.lake.table(INPUT).newest.commit.version] = made.ports.clock.now()
    return made


def after(of: World, time: timedelta) -> None:
    assert isinstance(of.ports.clock, MemoryClock)
    of.ports.clock.time += time


def seen(of: World, retention_below: timedelta = HOUR) -> Alert | None:
    return of_state(of.refreshes.show(NAME), of.ports.clock.now(), retention_below, failures=True)


def shown(of: World) -> DefinitionStatus:
    return of.refreshes.show(NAME)


def test_a_table_that_is_refreshed_in_time_is_no_alert() -> None:
    made = world(interval="1 h", target_lag="2 h")
    status = shown(made)
    assert status.forecast and status.freshness
    assert status.forecast.late_at == made.ports.clock.now() + 2 * HOUR
    assert (status.forecast.will_be_late, status.freshness.state) == (False, FreshnessState.FRESH)
    assert seen(made) is None


@pytest.mark.parametrize(
    ("refresh", "steer", "said"),
    [
        ({"cron": "0 0 1 1 *"}, None, "the next refresh is due at 20"),
        ({}, "pause", "no refresh starts before it is resumed"),
        ({"interval": "1 h"}, "pause", "no refresh starts before it is resumed"),
    ],
)
def test_a_table_that_no_refresh_reaches_in_time_is_reported_ahead(
    refresh: dict[str, str], steer: str | None, said: str
) -> None:
    made = world(**refresh, target_lag="2 h")
    if steer:
        getattr(made.refreshes, steer)(NAME)
    alert = seen(made)
    assert alert and (alert.about, alert.code) == (About.LATENESS, "late_ahead")
    assert said in alert.message and alert.since is None
    after(made, 2 * HOUR + HOUR / 60)
    late = seen(made)
    assert late and late.code == "late" and late.since == made.ports.clock.now() - HOUR / 60
    freshness = shown(made).freshness
    assert freshness and freshness.state is FreshnessState.LATE


def test_a_run_that_is_expected_to_end_too_late_is_reported_ahead() -> None:
    made = world(interval="1 h", target_lag="2 h")
    after(made, 1.5 * HOUR)
    one_task.start(made.process(), NAME, MINE)
    record = made.record
    assert record.run is not None
    slow = {record.run.mode: (3600.0,)}
    held = record.run.model_copy(update={"started_at": made.ports.clock.now()})
    parked = held.lease.model_copy(update={"parked_until": made.ports.clock.now() + 3 * HOUR})
    changed = record.model_copy(update={"durations": slow, "run": held.model_copy(update={"lease": parked})})
    made.store.commit(made.store.read(NAME), changed, Event.PARK, made.ports.clock.now())
    alert = seen(made)
    assert alert and alert.code == "late_ahead" and "its run is expected to end at" in alert.message
    after(made, HOUR)
    freshness = shown(made).freshness
    assert freshness and freshness.state is FreshnessState.RECOVERING


def test_where_only_the_schedule_of_a_dag_refreshes_a_table_nothing_is_reported_ahead() -> None:
    assert seen(world(target_lag="2 h")) is None


def test_changes_that_expire_before_the_next_refresh_are_reported_ahead() -> None:
    made = world(cron="0 0 1 1 *")
    made.refreshes.register(made.record.definition)
    alert = seen(made)
    status = shown(made)
    assert status.forecast and [one.before_next for one in status.forecast.inputs] == [True]
    assert alert and (alert.about, alert.code) == (About.RETENTION, "retention_ahead")
    assert "x until 20" in alert.message and "it would compare all" in alert.message
    made.refreshes.suspend(NAME, "we look into it")
    suspended = seen(made)
    assert suspended and suspended.code == "suspended" and "x until 20" in suspended.message


def test_a_table_without_a_limit_is_stale_while_it_has_not_all_changes() -> None:
    freshness = shown(world(interval="1 h")).freshness
    assert freshness and freshness.state is FreshnessState.STALE


def test_a_failure_is_reported_also_where_no_task_has_failed() -> None:
    made = world(interval="1 h")
    made.lake.append(INPUT, [row(1, "again")])
    with pytest.raises(RefreshError):
        made.run()
    alert = seen(made)
    assert alert and (alert.about, alert.code) == (About.FAILURE, "duplicate_key") and alert.since
    assert of_state(shown(made), made.ports.clock.now(), HOUR) is None


@pytest.mark.parametrize("gone", [INPUT, TARGET])
def test_a_table_of_which_nothing_can_be_determined_is_reported(gone: str) -> None:
    made = world(interval="1 h")
    del made.lake.tables[gone]
    alert = seen(made)
    assert alert and alert.code == "freshness_unknown"
    freshness = shown(made).freshness
    assert freshness and freshness.state is FreshnessState.UNKNOWN
