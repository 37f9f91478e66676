"""Backfills, consumers, broken definitions beside sound ones: what a running Airflow makes of refreshes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.running.conftest import Site
from tests.running.site import until
from tests.running.table import Table

CONSUMER = """
from datetime import datetime
from airflow.sdk import DAG, Asset, task

with DAG("{dag_id}", schedule=[Asset(name="{name}", uri="file://{target}")], start_date=datetime(2024, 1, 1)):

    @task
    def read(triggering_asset_events=None):
        [event] = next(iter(triggering_asset_events.values()))
        return event.extra

    read()
"""

pytestmark = pytest.mark.slow


def test_of_a_backfill_one_run_refreshes_and_the_others_skip(table: Table) -> None:
    table.deploy("schedule='@daily'")
    table.acts.backfill(table.dag_id, "2024-02-01T00:00:00Z", "2024-02-03T00:00:00Z")

    def runs() -> dict[str, str]:
        """All of them: the newest day has one of its own, which may come first."""
        return table.acts.runs(table.dag_id)

    until(lambda: sum(run.startswith("backfill") for run in runs()) == 3, "three runs")
    until(lambda: set(runs().values()) == {"success"}, "their end")
    starts = [table.states(run)["start"] for run in runs()]
    assert sorted(starts) == ["skipped"] * (len(starts) - 1) + ["success"]
    assert table.fresh()


def test_of_all_days_that_are_caught_up_with_one_refreshes_and_the_others_skip(table: Table) -> None:
    first = datetime.now(UTC) - timedelta(days=4)
    table.deploy(f"schedule='@daily', catchup=True, start_date=datetime({first.year}, {first.month}, {first.day})")
    until(lambda: len(table.acts.runs(table.dag_id)) >= 4, "all days")
    until(lambda: set(table.acts.runs(table.dag_id).values()) == {"success"}, "their end")
    starts = [table.states(run)["start"] for run in table.acts.runs(table.dag_id)]
    assert sorted(starts) == ["skipped"] * (len(starts) - 1) + ["success"]
    assert table.fresh()


def test_a_second_run_waits_for_the_first_and_has_nothing_to_do(table: Table) -> None:
    table.deploy()
    table.hold()
    first = table.trigger()
    table.held()
    second = table.trigger()
    until(lambda: table.airflow.rest.state(table.dag_id, second) == "queued", "a second run")
    table.release()
    assert [table.ended(run) for run in (first, second)] == ["success"] * 2
    assert [table.states(run)["start"] for run in (first, second)] == ["success", "skipped"]
    assert table.fresh()


def test_runs_that_meet_one_of_a_backfill_at_work_skip(table: Table) -> None:
    table.deploy("schedule='* * * * *'")
    until(lambda: "success" in table.acts.runs(table.dag_id).values(), "a run by the clock")
    table.hold()
    table.change()
    table.acts.backfill(table.dag_id, "2024-02-01T00:00:00Z", "2024-02-01T00:02:00Z")
    table.held()
    runs = table.acts.runs(table.dag_id)
    [holder] = (run for run in runs if runs[run] == "running" and table.states(run).get("load") == "success")
    kind = holder.partition("__")[0]

    def met() -> bool:
        """Whether a run of the other kind has found it at work."""
        runs = table.acts.runs(table.dag_id)
        assert "failed" not in runs.values()
        others = [run for run in runs if not run.startswith(kind) and table.states(run).get("start") == "skipped"]
        return any("is in progress, held by" in table.acts.log(table.dag_id, run, "start", 1) for run in others)

    until(met, "one that skips")
    table.release()
    assert table.ended(holder) == "success"


def test_a_consumer_knows_which_version_it_gets(table: Table, site: Site) -> None:
    consumer = f"reads_{table.name}"
    body = CONSUMER.format(dag_id=consumer, name=table.name, target=table.folder / "gold")
    (site.dags / f"{consumer}.py").write_text(body)
    table.deploy()
    until(lambda: consumer in site.airflow.rest.dag_ids(), "the consumer")
    assert table.ended(table.trigger()) == "success"
    until(lambda: "success" in table.acts.runs(consumer).values(), "a run of the consumer")
    [run_id] = table.acts.runs(consumer)
    extra = site.airflow.rest.returned(consumer, run_id, "read")
    assert extra["published_version"] == table.published
    assert extra["rows"]["updated"] == 9
    (site.dags / f"{consumer}.py").unlink()


def test_a_broken_definition_is_a_dag_that_fails_and_the_others_stay(table: Table, site: Site) -> None:
    rest = site.airflow.rest
    table.deploy()
    folder = table.folder / "definitions"
    folder.mkdir()
    (folder / "broken.yaml").write_text("name: broken\ntarget: ./t\n")
    file = site.dags / "broken_refreshes.py"
    body = f"for definition in load_definitions({str(folder)!r}):\n    refresh_dag(definition)\n"
    file.write_text(f"from airflow_refresh_provider import load_definitions, refresh_dag  # a dag\n{body}")
    until(lambda: "broken.definitions.broken.yaml" in rest.dag_ids(), "the DAG of the broken file")
    rest.unpause("broken.definitions.broken.yaml")
    run_id = rest.trigger("broken.definitions.broken.yaml")
    until(lambda: rest.state("broken.definitions.broken.yaml", run_id) == "failed", "its failure")
    file.unlink()
    assert table.ended(table.trigger()) == "success"
