"""Who has held a run, and which mode it was asked for and done in: in its record, its result, the history."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.attempt import MOST_KEPT, Attempts, with_attempt
from airflow_refresh_provider.core.run.owner import Owner
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import HistoryEntry, RunResult
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.views.tables import table_of
from tests.unit.page.site import browser
from tests.unit.page.test_pages import interrupted
from tests.unit.runner.queued import end, held
from tests.unit.runner.shop import NAME as REVENUE
from tests.unit.runner.shop import Shop
from tests.unit.runner.world import NAME, World, row


def resumed_by_a_dag_run(world: World) -> RunResult:
    """Its first owner is gone; the run is resumed a minute later."""
    world.die(world.ports)
    later = world.process()
    later.clock.sleep(60)
    return Refreshes(later).run(NAME, Request(workers=1, origin="dag/orders run-7"))


def cells(entry: HistoryEntry) -> dict[str, object]:
    shown = table_of([entry])
    return dict(zip(shown.columns, shown.rows[0], strict=True))


def test_a_run_in_progress_says_who_holds_it() -> None:
    world = interrupted()
    (first,) = world.interrupted.owners
    assert (first.by, first.host, first.origin) == (world.ports.processes.this().label, "memory", None)
    assert first.at == world.interrupted.started_at
    found = browser(world.refreshes).get(f"/api/v1/definitions/{NAME}/runs/{world.interrupted.run_id}").json()
    assert [one["by"] for one in found["owners"]] == [first.by]


def test_the_owner_that_has_resumed_a_run_is_in_its_result_in_the_history_and_on_its_page() -> None:
    world = interrupted()
    result = resumed_by_a_dag_run(world)
    first, second = result.owners
    assert (first.origin, second.origin) == (None, "dag/orders run-7")
    assert second.at > first.at and second.by != first.by
    entry = world.refreshes.history(NAME)[0]
    assert (entry.owners, entry.attempts) == (result.owners, 2)
    assert cells(entry)["resumed by"] == f"2024-01-01 00:01:00 UTC {second.by} on memory, for dag/orders run-7"
    page = browser(world.refreshes).get(f"/definitions/{NAME}/runs/{result.run_id}").text
    assert "<h2>Attempts</h2>" in page and second.by in page and "dag/orders run-7" in page
    assert f"2 attempts, the last by {second.by}" in browser(world.refreshes).get(f"/definitions/{NAME}").text


def test_a_run_that_was_not_resumed_names_no_other_owner() -> None:
    world = World(row(1))
    assert len(world.run().owners) == 1
    (entry,) = world.refreshes.history(NAME)
    assert cells(entry)["resumed by"] is None


def test_tasks_of_one_dag_run_that_continue_each_other_are_one_attempt() -> None:
    result = end(held())
    assert (result.attempts, len(result.owners)) == (1, 1)


def test_a_run_that_was_abandoned_keeps_its_attempts_and_modes_in_the_history() -> None:
    world = interrupted()
    (first,) = world.interrupted.owners
    world.refreshes.cancel(NAME, abandon=True)
    world.refreshes.recover(NAME)
    entry = world.refreshes.history(NAME)[0]
    assert entry.result is None and (entry.requested_mode, entry.mode) == ("full", "full")
    assert entry.owners and entry.owners[0] == first
    assert cells(entry)["mode"] == "full"


def test_the_requested_mode_is_shown_where_another_one_was_executed() -> None:
    shop = Shop()
    result = shop.refreshes.run(REVENUE, Request(workers=1))
    assert (result.requested_mode, result.mode) == ("incremental", "full")
    (entry,) = shop.refreshes.history(REVENUE)
    assert (entry.requested_mode, entry.mode) == ("incremental", "full")
    assert str(cells(entry)["mode"]).startswith("full, requested incremental: ")
    client = browser(shop.refreshes)
    assert "full, requested incremental" in client.get(f"/definitions/{REVENUE}").text
    run = client.get(f"/api/v1/definitions/{REVENUE}/runs/{result.run_id}").json()
    assert (run["requested_mode"], run["mode"]) == ("incremental", "full")


def test_a_mode_that_was_asked_for_and_executed_is_shown_once() -> None:
    shop = Shop()
    shop.begin()
    again = shop.refreshes.run(REVENUE, Request(mode=Mode.FULL, force=True, workers=1))
    entry = shop.refreshes.history(REVENUE)[0]
    assert (again.requested_mode, again.mode) == ("full", "full")
    assert str(cells(entry)["mode"]).startswith("full: ")


def test_of_many_attempts_the_first_and_the_newest_are_kept() -> None:
    found: Attempts = ()
    for number in range(3 * MOST_KEPT):
        owner = Owner(host="h", boot_id="b", pid=1, started=0.0, label=f"process {number}")
        found = with_attempt(found, owner, datetime(2030, 1, 1, tzinfo=UTC), None)
    assert len(found) == MOST_KEPT
    assert [found[0].by, found[1].by, found[-1].by] == ["process 0", "process 65", "process 95"]
