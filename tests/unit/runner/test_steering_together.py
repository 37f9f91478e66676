"""Cancelling a run that waits for its throttle, or whose budget is spent."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.admin_results import RecoveryOutcome
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Cancelled
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import LIVE, changed
from tests.unit.runner.test_budget import MINUTES, ONE, timed
from tests.unit.runner.test_cancelling import cancel
from tests.unit.runner.test_throttle import large, listening
from tests.unit.runner.world import NAME, World


def stopped() -> World:
    """A run whose budget is spent after some of its chunks."""
    world = changed(**LIVE, **MINUTES)
    timed(world)
    assert world.run(ONE).outcome is Outcome.BUDGET_SPENT
    return world


def test_a_unit_that_waits_for_its_throttle_ends_when_its_run_is_cancelled() -> None:
    world = large()
    refreshes, clock, _ = listening(world, lambda: cancel(world))
    with pytest.raises(Cancelled):
        refreshes.run(NAME, Request(workers=1))
    assert len(clock.waits) == 1
    Refreshes(world.process()).throttle(NAME, 0)
    assert world.another().resumed and world.fresh()


def test_a_run_whose_budget_is_spent_and_that_is_cancelled_is_resumed_by_the_next_run() -> None:
    world = stopped()
    cancel(world)
    status = next(iter(world.refreshes.statuses()))
    assert status.health is Health.CANCELLED
    (recovery,) = world.refreshes.recover()
    assert recovery.outcome is RecoveryOutcome.CANCELLED
    while world.record.run:
        assert world.another().resumed
    assert world.fresh()


def test_a_run_whose_budget_is_spent_and_that_is_cancelled_for_good_is_abandoned() -> None:
    world = stopped()
    old = world.interrupted.run_id
    cancel(world, abandon=True)
    (recovery,) = world.refreshes.recover()
    assert (recovery.run_id, recovery.outcome) == (old, RecoveryOutcome.ABANDONED)
    assert world.run(ONE).run_id != old
