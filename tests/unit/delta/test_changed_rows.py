"""How many rows a commit says that it has changed: by the counts of Spark and of delta-rs, and by its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.delta.tables.actions import grouped
from airflow_refresh_provider.delta.tables.changed_rows import changed_rows
from airflow_refresh_provider.inputs.delta_table import DeltaTables
from tests.contract.tables import rows

FEED: dict[str, Any] = {"cdc": {"path": "_change_data/c", "size": 10}}


def _said(operation: str, **metrics: str | int) -> dict[str, Any]:
    return {"commitInfo": {"operation": operation, "operationMetrics": metrics}}


def _file(kind: str, path: str, count: int | None, hidden: int = 0) -> dict[str, Any]:
    file: dict[str, Any] = {"path": path, "size": 100, "dataChange": True}
    if count is not None:
        file["stats"] = json.dumps({"numRecords": count})
    if hidden:
        file["deletionVector"] = {"storageType": "u", "cardinality": hidden}
    return {kind: file}


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([_said("UPDATE", numUpdatedRows="30"), FEED], 30),
        ([_said("DELETE", num_deleted_rows=7), FEED], 7),
        ([_said("MERGE", numTargetRowsInserted="2", numTargetRowsUpdated="3", numTargetRowsDeleted="4")], 9),
        ([_said("MERGE", numTargetRowsInserted="2"), FEED], None),
        ([_said("WRITE", numOutputRows="5"), _file("add", "a", 5)], 5),
        ([_said("DELETE"), _file("remove", "a", 50, 3), _file("add", "a", 50, 4)], 1),
        ([_said("UPDATE"), _file("remove", "a", 50), _file("add", "a", 50, 6), _file("add", "b", 6)], 6),
        ([_said("WRITE"), _file("remove", "a", None), _file("add", "b", 6)], None),
        ([_said("OPTIMIZE")], 0),
    ],
)
def test_the_writer_says_it_else_the_files_do(actions: list[dict[str, Any]], expected: int | None) -> None:
    assert changed_rows(grouped(actions)) == expected


def test_the_history_of_a_table_counts_its_rows(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_deltalake(table, rows(*range(100)))
    given = Input(path=str(table))
    before = DeltaTables().pin("t", given)
    DeltaTable(table).update(updates={"id": "id + 1000"}, predicate="id < 3")
    DeltaTable(table).delete("id = 50")
    write_deltalake(table, rows(500, 501), mode="append")
    found = DeltaTables().history(before, DeltaTables().pin("t", given))
    assert found is not None and [commit.rows for commit in found.commits] == [3, 1, 2]
    assert found.changed_rows == 6
