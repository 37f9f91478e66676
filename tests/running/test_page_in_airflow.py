"""The page inside Airflow, in a real browser: a refresh is started, watched, slowed, paused, cancelled, taken up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.rest import USER
from tests.browsing import keep
from tests.occupied import busy
from tests.running.site import PATIENCE, until
from tests.running.table import ROOT, Table
from tests.running.visitor import SLOW_MS, Visitor

pytestmark = pytest.mark.slow

UNITS = 4
WATCHED = 6
"""Chunks that a person sees come."""


def test_a_refresh_of_minutes_is_started_watched_paused_resumed_cancelled_and_continued(
    large: Table, visit: Callable[..., Visitor]
) -> None:
    person = visitor(visit, large)
    throttle(person, "1")
    run_id = started(large, person)
    person.sees_cells("done", WATCHED)
    person.sees_fact("throttle", "1 rows/s")
    keep(person.page, "airflow-run")

    person.follow(large.name)
    person.press("Pause")
    expect(person.shown.get_by_role("button", name="Resume")).to_be_visible(timeout=SLOW_MS)
    when_paused = done(large)
    person.sees_health("paused, ")
    until(lambda: "running" not in large.states(run_id).values(), "tasks that have stopped because of the pause")
    assert done(large) <= when_paused + UNITS
    keep(person.page, "airflow-paused")

    person.press("Resume")
    person.shown.locator("#to-run").click()
    person.sees_cells("done", WATCHED)
    person.follow("Cancel the run")
    person.press("Cancel the run")
    person.sees(f"cancelled by {USER}")
    assert large.ended(run_id) == "failed"
    keep(person.page, "airflow-cancelled")

    before = done(large)
    person.follow(large.name)
    throttle(person, "0")
    again = started(large, person)
    assert large.ended(again) == "success"
    person.sees_fact("outcome", "succeeded")
    person.sees_cells("earlier", before)
    person.follow(large.name)
    person.sees("no input has changed a row since the last refresh")
    outcome = person.shown.locator('td[data-label="outcome"]').first
    expect(outcome).to_contain_text(f"succeeded, 2 attempts, the last by task {large.dag_id}.", timeout=SLOW_MS)
    keep(person.page, "airflow-history")
    assert large.fresh()


def test_a_statement_that_would_take_hours_is_interrupted_when_its_run_is_cancelled(
    single: Table, visit: Callable[..., Visitor], spark_server: Endpoint
) -> None:
    person = visitor(visit, single)
    with busy(spark_server.url):
        run_id = started(single, person)
        until(lambda: single.states(run_id).get("refresh") == "running", "a task that waits for a core")
        person.follow("Cancel the run")
        person.press("Cancel the run")
        person.sees(f"cancelled by {USER}")
        until(lambda: single.states(run_id)["refresh"] == "failed", "the end of the task")
        assert single.ended(run_id) == "failed"
    assert single.healed()


def test_a_request_waits_behind_a_run_of_another_program_which_is_then_taken_over_and_abandoned(
    large: Table, visit: Callable[..., Visitor]
) -> None:
    person = visitor(visit, large)
    throttle(person, "1")
    with command(large) as other:
        person.shown.locator("#to-run").click()
        person.sees_cells("done", 1)
        person.follow(large.name)
        person.follow("Refresh now")
        person.press("Queue it")
        person.sees("as number 1 of 1")
        person.follow(f"See {large.name}")
        person.shown.get_by_role("button", name="Remove request").click()
        expect(person.shown.get_by_role("heading", name="Queue")).to_have_count(0, timeout=SLOW_MS)
        assert not large.refreshes.queue(large.name)

        person.follow("Take over the run")
        person.press("Take over the run")
        person.sees(f"{large.name} is refreshed by DAG run")
        said, _ = other.communicate(timeout=PATIENCE)
    assert "lost_lease" in said
    person.follow(f"See {large.name}")
    [run_id] = large.acts.runs(large.dag_id)
    person.follow("Abandon the run")
    person.press("Cancel the run")
    assert large.ended(run_id) == "failed"
    assert large.refreshes.history(large.name)[0].outcome is Outcome.CANCELLED


def test_a_run_whose_program_was_killed_is_recovered(single: Table, visit: Callable[..., Visitor]) -> None:
    person = visitor(visit, single)
    throttle(person, "1")
    with command(single) as other:
        until(lambda: done(single) > 0, "the first chunk")
        other.kill()
    throttle(person, "0")
    person.follow("Recover the run")
    person.press("Recover the run")
    person.sees(f"{single.name} is refreshed by DAG run")
    [run_id] = single.acts.runs(single.dag_id)
    assert single.ended(run_id) == "success"
    assert single.fresh()


def visitor(visit: Callable[..., Visitor], table: Table) -> Visitor:
    """An administrator who has gone from Airflow's navigation to the page of a table."""
    one = visit(USER)
    one.browse_refreshes()
    one.follow(table.name)
    one.sees_heading(table.name)
    return one


def started(table: Table, person: Visitor) -> str:
    """The DAG run of *Refresh now*; its run is shown."""
    before = set(table.acts.runs(table.dag_id))
    person.follow("Refresh now")
    person.press("Refresh now")
    person.sees(f"{table.name} is refreshed by DAG run")
    person.follow(f"See {table.name}")
    person.shown.locator("#to-run").click(timeout=SLOW_MS)
    person.sees_heading(f"Run of {table.name}")
    [run_id] = set(table.acts.runs(table.dag_id)) - before
    return run_id


def throttle(person: Visitor, rows: str) -> None:
    """Set the limit for the definition that is shown."""
    person.shown.get_by_label("rows/s").fill(rows)
    person.press("Throttle")
    expect(person.shown.get_by_label("rows/s")).to_have_value("", timeout=SLOW_MS)


def done(table: Table) -> int:
    """The chunks of the run in progress that are committed."""
    return table.refreshes.progress(table.name).chunks_done if table.refreshes.stored(table.name).run else 0


@contextmanager
def command(table: Table) -> Iterator[subprocess.Popen[str]]:
    """`airflow-refresh run`, killed after the block unless it has ended."""
    table.register()
    words = [sys.executable, "-m", "airflow_refresh_provider.cli.main", "run", table.name, "--output", "json"]
    with subprocess.Popen(
        [*words, "--control", str(table.folder / "control"), "--spark", table.spark],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
