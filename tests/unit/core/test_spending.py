"""When a budget is spent, and how long a throttled unit waits: decisions from facts alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.budget import Budget
from airflow_refresh_provider.core.run.budget import granted, spent, time_spent
from airflow_refresh_provider.core.run.owner import STALE_AFTER, Beat, Owner
from airflow_refresh_provider.core.run.record import Claim, Run
from airflow_refresh_provider.core.run.throttle import LONGEST_WAIT, limit_of, parallel_units, wait_seconds
from tests.contract.samples import record
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import World, row

NOW = datetime(2024, 2, 28, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("until", "moment"),
    [
        ("23:00", datetime(2024, 2, 28, 23, tzinfo=UTC)),
        ("22:30", datetime(2024, 2, 29, 22, 30, tzinfo=UTC)),
        ("06:00", datetime(2024, 2, 29, 6, tzinfo=UTC)),
    ],
)
def test_until_is_the_next_such_moment_in_utc(until: str, moment: datetime) -> None:
    budget = granted(Budget(until=until), NOW, 7)
    assert budget is not None and (budget.until, budget.since, budget.generation) == (moment, NOW, 7)
    assert time_spent(budget, moment - timedelta(microseconds=1)) is None
    assert time_spent(budget, moment) == f"until {moment:%Y-%m-%d %H:%M} UTC"


@pytest.mark.parametrize(
    ("seconds", "written", "expected"),
    [
        (0, 0, None),
        (59, 99, None),
        (60, 0, "60 seconds"),
        (0, 100, "100 bytes of 100"),
        (60, 2000, "2,000 bytes of 100"),
        (1800, 0, "until 2024-02-28 23:00 UTC"),
    ],
)
def test_the_first_limit_that_is_reached_counts(seconds: int, written: int, expected: str | None) -> None:
    budget = granted(Budget(until="23:00", seconds=60, bytes=100), NOW, 1)
    assert budget is not None
    assert spent(budget, NOW + timedelta(seconds=seconds), written) == expected


def test_without_a_budget_nothing_is_granted() -> None:
    assert granted(None, NOW, 1) is None


@given(st.integers(0, 10**9), st.floats(0, 10**6), st.integers(1, 10**6), st.integers(1, 32))
def test_a_unit_waits_until_its_rows_are_within_its_share(rows: int, seconds: float, limit: int, units: int) -> None:
    waits = wait_seconds(rows, seconds, limit, units)
    assert 0 <= waits <= LONGEST_WAIT
    if 0 < waits < LONGEST_WAIT:
        assert rows / (seconds + waits) == pytest.approx(limit / units)
    if waits == 0:
        assert rows * units <= seconds * limit * (1 + 1e-9)


def test_without_a_limit_nothing_waits() -> None:
    assert wait_seconds(10**9, 0.0, None, 4) == 0


@pytest.mark.parametrize(
    ("defined", "chosen", "expected"), [(None, None, None), (9, None, 9), (9, 5, 5), (9, 0, None), (None, 5, 5)]
)
def test_the_command_takes_precedence_over_the_definition(
    defined: int | None, chosen: int | None, expected: int | None
) -> None:
    found = record("orders", throttle=chosen)
    given = found.definition.model_copy(update={"throttle": defined})
    assert limit_of(found.model_copy(update={"definition": given})) == expected


def held(*generations: int) -> Run:
    """A run whose units are claimed under these generations."""
    world = World(row(1), row(2), **LIVE)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.run()
    owner = Owner(host="h", boot_id="b", pid=1, started=0.0, label="l")
    claims = {g: Claim(generation=g, owner=owner, session="s") for g in generations}
    return world.interrupted.model_copy(update={"claims": claims})


def test_units_whose_owners_give_signs_of_life_share_the_limit() -> None:
    beats = (
        Beat(generation=1, at=NOW),  # the run as a whole
        Beat(generation=2, at=NOW - STALE_AFTER),
        Beat(generation=3, at=NOW),
        Beat(generation=4, at=NOW - STALE_AFTER - timedelta(seconds=1)),
    )
    assert parallel_units(held(2, 3, 4), beats, NOW) == 2
    assert parallel_units(held(2, 3, 4), beats[:1], NOW) == 1, "they follow each other in one process"
