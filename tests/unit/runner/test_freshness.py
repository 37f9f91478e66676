"""Due and freshness reports without Spark, and the suspension of a definition that keeps failing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.reports import Freshness
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Failed, Invalid, Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from airflow_refresh_provider.testing.memory_ports import MemoryClock
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import INPUT, NAME, ONE, TARGET, World, definition, row

MINUTE = timedelta(minutes=1)
SCHEDULED = Request(workers=1, scheduled=True)


def world(**changes: Any) -> World:
    """A refreshed world with an interval of 15 minutes, in which time passes on request."""
    made = World(row(1), row(2), refresh={"interval": "15 minutes", "target_lag": "20 minutes"}, **changes)
    made.run()
    return made


def clock(of: World) -> MemoryClock:
    assert isinstance(of.ports.clock, MemoryClock)
    return of.ports.clock


def append(to: World, *rows: dict[str, Any]) -> datetime:
    """Insert rows now; a minute later nothing has happened since."""
    to.lake.append(INPUT, rows)
    at = to.lake.times[INPUT, to.lake.table(INPUT).newest.commit.version] = clock(to).time
    return at


def fresh(of: World) -> Freshness:
    (found,) = of.refreshes.freshness(NAME, why=True)
    return found


def test_a_definition_that_was_never_refreshed_is_due() -> None:
    made = World(row(1), refresh={"interval": "15 minutes", "target_lag": "20 minutes"})
    assert made.refreshes.due(NAME).cause == "first"
    assert (fresh(made).lag_seconds, fresh(made).late) == (None, True)


def test_a_change_becomes_due_when_it_is_old_enough_and_late_after_the_target_lag() -> None:
    made = world()
    assert (made.refreshes.due(NAME).due, made.refreshes.due(NAME).cause) == (False, "nothing_new")
    clock(made).time = BEGINNING + 5 * MINUTE
    changed = append(made, row(3))
    clock(made).time += 10 * MINUTE
    report = made.refreshes.due(NAME)
    assert (report.due, report.cause, report.next_at, report.lag_seconds) == (
        False,
        "not_yet",
        changed + 15 * MINUTE,
        600,
    )
    clock(made).time += 5 * MINUTE
    assert made.refreshes.due(NAME).cause == "interval"
    assert not fresh(made).late
    clock(made).time += 6 * MINUTE
    found = fresh(made)
    assert (found.late, found.lag_seconds, found.confirmed_at) == (True, 21 * 60, changed)
    (read,) = found.inputs
    assert (read.applied, read.newest, read.lag_seconds) == (1, 2, 21 * 60)
    assert read.kept_until == changed + timedelta(days=30)  # of the log: the new file stays in the table
    made.run()
    assert (fresh(made).lag_seconds, fresh(made).confirmed_at) == (0, clock(made).time)


def test_reports_need_no_spark_and_write_nothing() -> None:
    made = world()
    append(made, row(3))
    steps: list[str] = []
    made.lake.step = steps.append
    made.refreshes.due(NAME)
    fresh(made)
    assert steps
    assert all(s.startswith("read ") for s in steps)


def test_the_lag_of_a_missing_target_is_not_known() -> None:
    made = world()
    made.lake.remove(TARGET)
    found = fresh(made)
    assert (found.lag_seconds, found.confirmed_at, found.late, found.inputs) == (None, None, True, ())
    assert found.unreadable_reason == f"the target {TARGET} is not there"
    made.run()
    assert (fresh(made).lag_seconds, fresh(made).late, fresh(made).unreadable_reason) == (0, False, None)


def test_maintenance_makes_nothing_due_and_nothing_stale() -> None:
    made = world()
    made.lake.optimize(INPUT)
    clock(made).time += timedelta(days=3)
    assert made.refreshes.due(NAME).cause == "nothing_new"
    assert fresh(made).lag_seconds == 0


def test_a_target_is_behind_a_restored_input() -> None:
    made = world()
    made.lake.restore(INPUT, 0)
    clock(made).time += 20 * MINUTE
    assert fresh(made).lag_seconds == 20 * 60
    made.lake.remove(INPUT)
    made.lake.create(INPUT, made.lake.table(TARGET).newest.columns[:2], [row(9)])
    assert (made.refreshes.due(NAME).cause, fresh(made).lag_seconds) == ("interval", 20 * 60)


@pytest.mark.parametrize(
    ("inputs", "cause", "behind"),
    [({"trigger": False}, "nothing_new", 1200), ({"ignore_changes": True}, "nothing_new", 0)],
)
def test_inputs_may_be_kept_from_starting_refreshes(inputs: dict[str, Any], cause: str, behind: int) -> None:
    made = world(inputs={"x": {"path": INPUT} | inputs})
    append(made, row(3))
    clock(made).time += 20 * MINUTE
    assert made.refreshes.due(NAME).cause == cause
    assert fresh(made).lag_seconds == behind
    assert (made.run().outcome == "nothing_to_do") == (behind == 0)


def test_a_pause_and_an_unfinished_run_are_reported() -> None:
    made = world()
    append(made, row(3))
    made.refreshes.pause(NAME)
    assert made.refreshes.due(NAME).cause == "paused"
    made.refreshes.resume(NAME)
    made.refreshes.suspend(NAME, "we look into it")
    assert made.refreshes.due(NAME).reason == "it is suspended: we look into it"
    with pytest.raises(Refused, match="we look into it"):
        made.run()
    assert made.refreshes.resume(NAME).suspended is None
    with at(made.lake, f"answer {TARGET}"), pytest.raises(Killed):
        made.run()
    another = Refreshes(made.process())
    assert another.due(NAME).cause == "running"
    made.die(made.ports)
    assert another.due(NAME).cause == "interrupted"


def test_a_target_that_another_writer_has_changed_is_due_without_a_changed_input() -> None:
    made = world()
    made.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"})
    assert (made.refreshes.due(NAME).due, made.refreshes.due(NAME).cause) == (True, "overwritten")
    made.run()
    assert made.fresh()
    assert made.refreshes.due(NAME).cause == "nothing_new"


def test_the_clock_counts_as_changed_where_the_query_reads_it() -> None:
    query = "SELECT k, v, now() AS moment FROM x"
    made = World()
    made.refreshes.register(definition(query=query, refresh={"interval": "1 h"}))
    made.run()
    assert made.refreshes.due(NAME).cause == "nothing_new"
    clock(made).time += MINUTE
    report = made.refreshes.due(NAME)
    assert (report.cause, report.next_at, report.lag_seconds) == ("not_yet", BEGINNING + 60 * MINUTE, 0)
    clock(made).time += 59 * MINUTE
    assert (made.refreshes.due(NAME).cause, made.refreshes.due(NAME).reason) == (
        "interval",
        "the query reads the clock",
    )
    assert fresh(made).lag_seconds == 0


def test_a_manual_schedule_is_never_due() -> None:
    made = World(row(1))
    made.run()
    append(made, row(3))
    report = made.refreshes.due(NAME)
    assert (report.due, report.cause) == (False, "manual")
    assert "unapplied changes: x since" in report.reason
    made.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"})
    report = made.refreshes.due(NAME)
    assert (report.due, report.cause) == (False, "manual")
    assert "has other rows than the last refresh has published" in report.reason


def test_an_input_that_is_a_target_names_its_definition() -> None:
    made = world()
    made.refreshes.register(
        definition(name="next", target="/gold/next", inputs={"x": {"path": TARGET}}, refresh={"interval": "1 h"})
    )
    made.refreshes.run("next", ONE)
    (found,) = made.refreshes.freshness("next", why=True)
    assert found.inputs[0].upstream == NAME
    assert len(made.refreshes.freshness_several(Selection(every=True))) == 2


def test_an_error_of_one_definition_hides_no_other_and_names_it() -> None:
    made = world()
    made.refreshes.register(definition(name="next", target="/gold/next", inputs={"x": {"path": TARGET}}))
    made.refreshes.run("next", ONE)
    made.lake.remove(INPUT)
    after, broken = made.refreshes.freshness_several(Selection(every=True))
    assert (after.name, after.lag_seconds, after.error) == ("next", 0, None)
    assert broken.error is not None
    assert (broken.name, broken.error.code, broken.lag_seconds) == (NAME, "input_missing", None)
    for look in (made.refreshes.freshness, made.refreshes.due):
        with pytest.raises(Invalid, match=f"^{NAME}: ") as raised:
            look(NAME)
        assert raised.value.code == "input_missing"


def fail(made: World, request: Request) -> None:
    with pytest.raises((Failed, Invalid)):
        made.run(request)


def test_scheduled_refreshes_that_keep_failing_suspend_the_definition() -> None:
    made = World(row(1), row(1), refresh={"interval": "1 h", "suspend_after": 3})
    for request in (SCHEDULED, ONE, SCHEDULED, ONE):
        fail(made, request)
        assert made.record.suspended is None
    fail(made, SCHEDULED)
    assert made.record.suspended is not None
    assert "3 scheduled refreshes in a row have failed, the last because the query's result has more than one row" in (
        made.record.suspended
    )
    with pytest.raises(Refused, match="is suspended"):
        made.run(SCHEDULED)
    made.refreshes.resume(NAME)
    made.become(row(1))
    made.run(SCHEDULED)
    assert (made.record.failures, made.fresh()) == (0, True)


def test_waiting_for_another_definition_does_not_count() -> None:
    made = World(row(1))
    late = definition(
        name="late", target="/gold/late", inputs={"x": {"path": "/gold/first"}}, refresh={"interval": "1 h"}
    )
    first = definition(name="first", target="/gold/first")
    made.refreshes.register(first)
    made.refreshes.run("first", ONE)
    made.refreshes.register(late)
    made.refreshes.drop("first")
    made.refreshes.register(first)
    with pytest.raises(Refused, match="has not been refreshed yet"):
        made.refreshes.run("late", SCHEDULED)
    record = made.store.read("late").record
    assert record is not None and record.failures == 0


def test_a_missing_input_counts_too() -> None:
    made = World(row(1), refresh={"interval": "1 h", "suspend_after": 2})
    made.lake.remove(INPUT)
    fail(made, ONE)
    fail(made, SCHEDULED)
    assert made.record.failures == 1
    fail(made, SCHEDULED)
    assert "input x is not a table" in (made.record.suspended or "")


def test_registering_a_changed_definition_ends_a_suspension() -> None:
    made = World(row(1))
    made.refreshes.suspend(NAME, "we look into it")
    made.refreshes.register(definition())
    assert made.record.suspended == "we look into it"
    made.refreshes.register(definition(owner="us"))
    assert made.record.suspended is None


@pytest.mark.parametrize("paused", ["suspend", "pause"])
def test_the_cause_of_a_pause_is_reported_although_an_input_is_missing(paused: str) -> None:
    made = World(row(1), refresh={"interval": "1 h"})
    made.run()
    if paused == "suspend":
        made.refreshes.suspend(NAME, "we look into it")
    else:
        made.refreshes.pause(NAME)
    made.lake.remove(INPUT)
    assert made.refreshes.due(NAME).cause == {"suspend": "suspended", "pause": "paused"}[paused]


def test_a_cron_counts_from_the_start_of_the_last_refresh() -> None:
    made = World(row(1), refresh={"cron": "0 6 * * *"})
    tick = (clock(made).now() + timedelta(days=1)).replace(hour=6, minute=0, second=0, microsecond=0)
    clock(made).sleep((tick - timedelta(seconds=30) - clock(made).now()).total_seconds())

    def slow(what: str) -> None:
        if what.startswith("begin /gold"):
            clock(made).sleep(60)

    made.lake.step = slow
    made.run()
    made.lake.step = lambda _what: None
    append(made, row(2))
    assert made.record.published and made.record.published.at > tick
    assert made.refreshes.due(NAME).cause == "cron"


def test_a_target_that_is_being_refreshed_is_waited_for() -> None:
    made = World(row(1))
    made.run()
    child = definition(name="child", target="/gold/child", inputs={"x": {"path": TARGET}}, refresh={"on_change": True})
    made.refreshes.register(child)
    made.refreshes.run("child", ONE)
    assert made.refreshes.due("child").cause == "nothing_new"
    made.lake.append(INPUT, [row(2)])
    one_task.start(made.ports, NAME, Request(origin="dag/one"))
    due = made.refreshes.due("child")
    assert (due.due, due.cause, due.reason) == (False, "input_running", "its input x is being refreshed")
    assert due.next_at and due.next_at > made.ports.clock.now()
    one_task.interrupt(made.ports, NAME, Request(origin="dag/one"))
    assert made.refreshes.due("child").cause == "nothing_new"


def test_scheduled_failures_of_a_run_that_is_kept_count() -> None:
    made = World(row(1), refresh={"interval": "1 h", "suspend_after": 2})
    made.run()
    made.become(row(1, "b"))
    wrong = Failed("bad_value", "a row cannot be computed", left="as it was", next="fix it")
    for failures, nth in ((1, 1), (2, 3)):  # the second owner begins with two fences
        with at(made.lake, "begin /gold", lambda: wrong, nth), pytest.raises(Failed):
            made.another(Request(workers=1, scheduled=True))
        assert made.record.failures == failures
    assert made.record.suspended and made.record.run is not None
