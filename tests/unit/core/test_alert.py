"""What a person is sent of a failure, a suspension, lateness, and changes that are about to expire."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_refresh_provider.core.run.alert import Alert, of_failure, of_state
from airflow_refresh_provider.core.run.alert_reasons import About
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Cancelled, Explained, Interrupted, Invalid, Lost, RefreshError, Retry
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, NAME, World, row

DAY = timedelta(days=1)
LATE = {"refresh": {"interval": "1 h", "target_lag": "90 min"}}


def failed(world: World, request: Request | None = None) -> Alert:
    """The alert of a refresh that fails."""
    with pytest.raises(RefreshError) as error:
        world.run(request or Request(workers=1))
    return of_failure(world.refreshes.stored(NAME), error.value)


def seen(world: World, retention_below: timedelta = DAY) -> Alert | None:
    """The alert of a definition that is looked at now."""
    return of_state(world.refreshes.show(NAME), world.ports.clock.now(), retention_below)


def test_a_failure_says_everything_in_one_message() -> None:
    world = World(row(1))
    published = world.run().published_version
    world.lake.append(INPUT, [row(1, "again")])
    alert = failed(world)
    assert (alert.about, alert.code) == (About.FAILURE, "duplicate_key")
    assert alert.text.splitlines()[0] == "orders: failure [duplicate_key]"
    assert "more than one row for 1 key, such as #" in alert.message
    assert f"the published version is {published}, of " in alert.readers
    assert alert.clear == "yes: a new run starts, and fails again while the cause is there"
    assert alert.text.splitlines()[-1] == "Run: airflow-refresh run orders"


def test_chunks_of_an_unfinished_run_are_said_to_readers_and_a_clear_goes_on() -> None:
    world = World(*[row(i) for i in range(4)], chunking={"one_commit_up_to": 1, "chunk_rows": 1}, visibility="live")
    world.run()
    world.become(*[row(i, "b") for i in range(4)])
    with at(world.lake, "begin /gold", disconnected, nth=2):
        alert = failed(world)
    assert alert.clear == "yes: it continues after the last chunk"
    assert "sees the chunks of an unfinished run" in alert.readers


def test_the_failure_that_suspends_says_so_and_resumes() -> None:
    world = World(row(1), refresh={"interval": "1 h", "suspend_after": 1})
    world.lake.append(INPUT, [row(1, "again")])
    alert = failed(world, Request(workers=1, scheduled=True))
    assert alert.about is About.SUSPENSION
    assert "No scheduled refresh starts any more: a scheduled refresh has failed" in alert.message
    assert alert.command == "airflow-refresh resume orders"
    assert alert.clear.startswith("yes, but it starts nothing before")
    again = seen(world)
    assert again and again.about is About.SUSPENSION and again.command == alert.command


@pytest.mark.parametrize(
    ("error", "clear", "command"),
    [
        (Lost("lost_lease", "m", left="l", next="n"), "yes, but another owner has the run", "show"),
        (Cancelled("cancelled", "m", left="l", next="n"), "it starts nothing: the task ends with `cancelled`", "run"),
        (Interrupted("interrupted", "m", left="l", next="n"), "yes: a new run starts", "run"),
        (Retry("connection_lost", "m", left="l", next="n"), "yes: a new run starts", "run"),
        (Invalid("bad_query", "m", next="n"), "yes: a new run starts, and fails again", "run"),
    ],
)
def test_whether_a_clear_is_safe_follows_from_the_kind_of_error(error: Explained, clear: str, command: str) -> None:
    alert = of_failure(World(row(1)).refreshes.stored(NAME), error)
    assert alert.clear.startswith(clear)
    assert alert.command == f"airflow-refresh {command} orders"
    assert alert.readers == "nothing is published yet"


def test_a_fresh_table_is_no_alert() -> None:
    world = World(row(1), **LATE)
    world.run()
    assert seen(world) is None


def test_a_late_table_says_by_how_much() -> None:
    world = World(row(1), **LATE)
    world.run()
    world.lake.append(INPUT, [row(2)])
    world.ports.clock.sleep(7200)
    alert = seen(world)
    assert alert and alert.about is About.LATENESS
    assert alert.message.startswith("it is 2:00:") and alert.message.endswith("its target_lag is 1:30:00")
    assert alert.left == "as the last refresh has published it"


def test_changes_that_are_about_to_expire_are_an_alert() -> None:
    world = World(row(1))
    world.run()
    world.lake.append(INPUT, [row(2)])
    assert seen(world) is None
    alert = seen(world, timedelta(days=31))
    assert alert and alert.about is About.RETENTION and "can be read until" in alert.message
    world.ports.clock.sleep(31 * 86400)
    alert = seen(world)
    assert alert and "can no longer be read" in alert.message
    world.refreshes.suspend(NAME, "we look into it")
    alert = seen(world)
    assert alert and alert.about is About.SUSPENSION and "can no longer be read" in alert.message
