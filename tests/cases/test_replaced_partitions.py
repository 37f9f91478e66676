"""Whole partitions are replaced, without a comparison, once one has found that many of their rows change (ADR 72)."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from tests.cases.case import Case

_DAYS = [date(2026, 1, 1) + timedelta(days=i) for i in range(8)]
_ROWS = 400
_PLACES = (
    "SELECT {by}, id, v, row_number() OVER (PARTITION BY {by} ORDER BY v, id) AS place FROM src"  # by partition alone
)
_LARGE: dict[str, Any] = {"chunking": {"one_commit_up_to": 100, "chunk_rows": 100}}
"""So many rows of a few partitions are more than one commit."""


def _fill(case: Case, first: int, days: list[Any], column: str = "day", v: int = 0) -> None:
    ids = list(range(first, first + _ROWS // 8 * len(days)))
    case.rows("src", id=ids, **{column: [days[i % len(days)] for i in ids]}, v=[v] * len(ids))


def _way(case: Case, run: RunResult) -> set[str | None]:
    notes = (read_note(commit.note) for commit in DeltaTableLog().commits(case.place("target"), after=-1))
    return {note.way for note in notes if note and note.run == run.run_id and note.way}


def _deliver_again(case: Case, where: str, v: int) -> RunResult:
    """All rows of some partitions are delivered again, with other values."""
    case.update("src", where, v=str(v))
    return case.refresh()


def _replaced(case: Case, run: RunResult) -> None:
    assert [notice.code for notice in run.notices] == ["partitions_replaced"], run
    assert _way(case, run) == {"replace_partitions"}


def _trusted(case: Case, where: str, query: str = _PLACES, **fields: Any) -> None:
    """After a first refresh and a verified one, which has found that all rows of partitions change."""
    case.define(query, mode="incremental", **(_LARGE | fields))
    case.refresh()
    assert _deliver_again(case, where, 1).mode_code == "verification"


@pytest.mark.parametrize("feed", [False, True], ids=["by files", "by a change data feed"])
def test_days_that_are_delivered_again_are_replaced(case: Case, feed: bool) -> None:
    _fill(case, 0, _DAYS)
    if feed:
        case.do("ALTER TABLE {src} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    _trusted(case, "day < '2026-01-04'", _PLACES.format(by="day"), keys=["day", "id"], partition_by=["day"])

    run = _deliver_again(case, "day > '2026-01-02' AND day < '2026-01-06'", 2)

    _replaced(case, run)
    assert (run.rows.inserted, run.rows.deleted, run.rows.unchanged) == (150, 150, 250)
    assert run.chunks.done > 1, "more rows than one chunk"
    files = list(Path(case.place("target")).glob("day=2026-01-05/*.parquet"))
    assert len(files) == 2, "one at the first load, and one since"


def test_days_come_go_and_are_emptied(case: Case) -> None:
    _fill(case, 0, _DAYS)
    _trusted(case, "day < '2026-01-04'", _PLACES.format(by="day"), keys=["day", "id"], partition_by=["day"])
    case.delete("src", "day = '2026-01-02'")
    _fill(case, 1_000, [date(1582, 10, 10), date(9999, 12, 31)], v=3)
    case.update("src", "day = '2026-01-03'", day="day + interval '1 days'")

    run = case.refresh()

    _replaced(case, run)
    assert case.found("SELECT DISTINCT day FROM target") == {
        (day,) for day in [date(1582, 10, 10), date(9999, 12, 31), *_DAYS] if day.day not in (2, 3)
    }
    case.nothing_to_do()


def test_touched_values_with_more_columns_are_reduced_to_their_days(case: Case) -> None:
    _fill(case, 0, _DAYS)
    query = "SELECT day, id, max(v) AS most FROM src GROUP BY day, id"
    _trusted(case, "day < '2026-01-05'", query, keys=["day", "id"], partition_by=["day"])

    run = _deliver_again(case, "day > '2026-01-02' AND day < '2026-01-06'", 2)

    _replaced(case, run)
    assert run.touched == run.rows.inserted == run.rows.deleted == 150


@pytest.mark.parametrize(
    ("name", "values", "type_"),
    [
        ("text", ["it's", 'a "b"', "a/b=c%20", "ä 漢\\n", "1", "x\ny", " ", "NULL"], "string"),
        ("number", [str(n) for n in (-(1 << 63), (1 << 63) - 1, 0, -1, 7, 8, 9, 10)], "bigint"),
        ("small", [str(n) for n in (-128, 127, 0, 1, 2, 3, 4, 5)], "tinyint"),
    ],
)
def test_partitions_of_other_types(case: Case, name: str, values: list[Any], type_: str) -> None:
    _fill(case, 0, values, name)
    query = (
        f"SELECT CAST({name} AS {type_}) AS {name}, id, v, rank() OVER (PARTITION BY {name} ORDER BY v) AS r FROM src"
    )
    _trusted(case, "id < 300", query, keys=[name, "id"], partition_by=[name])

    _replaced(case, _deliver_again(case, "id < 350", 2))


def test_partitions_of_two_columns(case: Case) -> None:
    _fill(case, 0, _DAYS)
    query = (
        "SELECT day, id % 3 = 0 AS third, id, v, rank() OVER (PARTITION BY day, id % 3 = 0 ORDER BY v) AS r FROM src"
    )
    _trusted(case, "id < 300", query, keys=["id", "third", "day"], partition_by=["third", "day"])

    _replaced(case, _deliver_again(case, "id % 3 = 0 AND day < '2026-01-07'", 2))


def test_texts_that_cannot_name_a_folder_are_no_keys(case: Case) -> None:
    """They are NULL there, which no key may be: rows with them are refused before anything is replaced."""
    _fill(case, 0, ["a", "b"], "text")
    query = "SELECT text, id, v, rank() OVER (PARTITION BY text ORDER BY v) AS r FROM src"
    _trusted(case, "true", query, keys=["text", "id"], partition_by=["text"], chunking={"one_commit_up_to": 10})
    case.update("src", "id < 50", text="''")

    case.refused("null_key", "50 rows")


def test_the_newest_row_of_a_key_is_replaced_by_partition(case: Case) -> None:
    _fill(case, 0, _DAYS)
    _fill(case, 0, _DAYS, v=1)
    newest = {"on_duplicate": "latest", "latest_by": "v"}
    _trusted(case, "v = 1", "SELECT day, id, v FROM src", keys=["day", "id"], partition_by=["day"], **newest)
    case.delete("src", "v = 1 AND id % 2 = 0")
    assert case.refresh().mode_code in {"verification", "changes"}
    case.delete("src", "v = 0 AND day < '2026-01-05'")

    run = case.refresh()

    assert run.mode == "incremental", run
