"""Refreshes that begin by themselves: a commit to an input is seen without Spark, and a DAG run follows."""

from __future__ import annotations

from deltalake import DeltaTable

from tests.running.site import until
from tests.running.table import Table

SOON = 60.0
"""Seconds: far less than the interval of the schedule, and enough for a scheduler that has half a processor."""


def begun(table: Table) -> list[str]:
    """The runs that began because of an input, in order."""
    return sorted(run_id for run_id in table.acts.runs(table.dag_id) if run_id.startswith("asset_triggered"))


def by_the_clock(table: Table) -> list[str]:
    return sorted(run_id for run_id in table.acts.runs(table.dag_id) if run_id.startswith("scheduled"))


def test_a_commit_to_an_input_begins_a_refresh_within_seconds(table: Table) -> None:
    table.deploy(refresh={"on_change": True})
    until(lambda: len(begun(table)) == 1, "the first look")
    assert table.ended(begun(table)[0]) == "success"
    until(lambda: len(by_the_clock(table)) == 1, "the first run by the clock")
    assert table.ended(by_the_clock(table)[0]) == "success"
    assert table.fresh()

    table.change()
    committed = DeltaTable(str(table.folder / "silver")).history(1)[0]["timestamp"] / 1000
    until(lambda: len(begun(table)) == 2, "a run that follows a commit")
    second = begun(table)[1]
    assert table.ended(second) == "success"
    assert table.fresh()
    assert table.acts.due_at(table.dag_id, second).timestamp() - committed < SOON

    DeltaTable(str(table.folder / "silver")).optimize.compact()
    DeltaTable(str(table.folder / "silver")).alter.set_table_properties({"delta.appendOnly": "false"})
    table.change()
    until(lambda: len(begun(table)) == 3, "a run that follows a commit, and none that follows tidying up")
    assert table.ended(begun(table)[2]) == "success"
    assert table.fresh()
