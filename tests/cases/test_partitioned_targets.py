"""Partitioned targets in several chunks: the rows of a partition are written together (ADR 68)."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from tests.cases.case import Case

_DAYS = 30
_ROWS = 600
_CHUNKS: dict[str, Any] = {"chunking": {"one_commit_up_to": 20, "chunk_rows": 100}}
"""Too many rows for one commit of a first load, so that they are staged and applied in chunks."""


def _fill(case: Case) -> None:
    days = [date(2026, 1, 1) + timedelta(days=i % _DAYS) for i in range(_ROWS)]
    case.rows("src", id=list(range(_ROWS)), day=days, v=[0] * _ROWS)


def _files(case: Case) -> list[Path]:
    return list(Path(case.place("target")).glob("day=*/*.parquet"))


def _chunks(case: Case, result: RunResult) -> int:
    """The commits with rows of a run."""
    commits = DeltaTableLog().commits(case.place("target"), after=-1)
    return sum(c.bytes_added > 0 and str(result.run_id) in (c.note or "") for c in commits)


def test_a_first_load_in_chunks_writes_one_file_into_each_partition(case: Case) -> None:
    _fill(case)
    case.define("SELECT id, day, v FROM src", partition_by=["day"], **_CHUNKS)

    loaded = case.refresh()

    assert _chunks(case, loaded) > 2
    assert len(_files(case)) == _DAYS


def test_rows_move_between_partitions_in_chunks(case: Case) -> None:
    _fill(case)
    case.define("SELECT id, day, v FROM src", partition_by=["day"], mode="incremental", **_CHUNKS)
    case.refresh()

    case.update("src", "id % 2 = 0", day="day + interval '1 days'")
    case.delete("src", "id % 7 = 1")
    moved = case.refresh()
    case.update("src", "id % 3 = 0", v="1")
    case.define("SELECT id, day, v + 0 AS v FROM src", partition_by=["day"], **_CHUNKS)
    compared = case.refresh()

    assert moved.rows.updated == _ROWS // 2 - len(range(8, _ROWS, 14)), moved.rows
    assert moved.rows.deleted == len(range(1, _ROWS, 7))
    assert _chunks(case, moved) > 2
    assert _chunks(case, compared) > 1


def test_a_partition_with_all_rows_is_written_in_chunks_too(case: Case) -> None:
    case.rows("src", id=list(range(_ROWS)), day=[date(2026, 1, 1)] * _ROWS, v=[0] * _ROWS)
    case.define("SELECT id, day, v FROM src", partition_by=["day"], **_CHUNKS)

    loaded = case.refresh()

    assert _chunks(case, loaded) > 2
    assert len(_files(case)) <= 2 * _chunks(case, loaded)


def test_rows_of_touched_texts_that_cannot_name_a_folder_are_found(case: Case) -> None:
    """They are NULL in the target, and not in the input."""
    case.rows("src", id=list(range(6)), text=["a", "b", "", "__HIVE_DEFAULT_PARTITION__", None, ""], v=[0] * 6)
    query = "SELECT id, text, v, rank() OVER (PARTITION BY text ORDER BY v, id) AS place FROM src"
    case.define(query, partition_by=["text"], mode="incremental")
    case.run()
    codes = []
    for number in (0, 2, 3, 4):
        case.update("src", f"id = {number}", v="v + 1")
        codes.append(case.run().mode_code)
        assert case.compare().equal
    assert codes == ["verification", "changes", "changes", "changes"]
    assert case.found("SELECT id FROM target WHERE text IS NULL") == {(2,), (3,), (4,), (5,)}
