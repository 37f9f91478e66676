"""How a table is, in one word: the first that holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_refresh_provider.core.run.health import Health, HealthFacts, health
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Published, Record
from airflow_refresh_provider.core.run.results import Outcome
from tests.contract.samples import record
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import World, row

AT = datetime(2024, 1, 1, tzinfo=UTC)
FAILED = LastRun(outcome=Outcome.FAILED, at=AT, code="input_missing", reason="the input is not there")
FRESH = HealthFacts(lag_seconds=0.0)


def published(base: Record, **changes: Any) -> Record:
    done = Published(
        run_id="r",
        target_id="t",
        version=1,
        seal_version=2,
        pins={},
        definition_hash=base.definition.hash,
        clocked=False,
        at=AT,
    )
    return base.model_copy(update={"published": done, **changes})


IDLE = published(record("orders"))


@pytest.mark.parametrize(
    ("found", "facts", "expected"),
    [
        (IDLE, FRESH, Health.FRESH),
        (IDLE, replace(FRESH, lag_seconds=3.0), Health.BEHIND),
        (IDLE, replace(FRESH, lag_seconds=3.0, late=True), Health.LATE),
        (IDLE, replace(FRESH, overwritten=True), Health.OVERWRITTEN),
        (IDLE, replace(FRESH, replaced=True, late=True), Health.REPLACED),
        (IDLE, replace(FRESH, unreadable=True), Health.UNKNOWN),
        (record("orders"), FRESH, Health.NOT_PUBLISHED),
        (record("orders", last_run=FAILED), FRESH, Health.FAILED),
        (published(record("orders"), last_run=FAILED), replace(FRESH, lag_seconds=3.0), Health.FAILED),
        (published(record("orders"), last_run=FAILED), FRESH, Health.FRESH),
        (published(record("orders"), paused=True), FRESH, Health.PAUSED),
        (published(record("orders"), suspended="by hand"), FRESH, Health.SUSPENDED),
        (published(record("orders"), state=State.RESETTING), FRESH, Health.DROPPING),
    ],
)
def test_the_first_that_holds_counts(found: Record, facts: HealthFacts, expected: Health) -> None:
    assert health(found, facts) is expected


def test_a_published_table_with_another_definition_is_redefined() -> None:
    other = IDLE.model_copy(update={"definition": IDLE.definition.model_copy(update={"query": "SELECT 1 AS k"})})
    assert health(other, FRESH) is Health.REDEFINED


def test_an_unfinished_run_is_running_waiting_interrupted_or_failed() -> None:
    world = World(row(1), row(2), **LIVE)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.run()
    left = world.record
    assert left.run is not None
    assert health(left, HealthFacts(live=True)) is Health.RUNNING
    assert health(left, HealthFacts(kept=True)) is Health.WAITING
    paused = left.model_copy(update={"paused": True})
    assert health(paused, HealthFacts(live=True)) is Health.RUNNING
    assert health(paused, HealthFacts(kept=True)) is Health.PAUSED
    assert health(left, HealthFacts()) is Health.INTERRUPTED
    kept = left.model_copy(
        update={"last_run": FAILED, "run": left.run.model_copy(update={"failed_in": left.run.generation})}
    )
    assert health(kept, HealthFacts()) is Health.FAILED
    assert health(kept, HealthFacts(live=True)) is Health.RUNNING
