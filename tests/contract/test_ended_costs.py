"""What ended runs have cost, as stores add it up: the same from figures, from summaries, and from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as parquet  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.run.costs import CostsBy, Sums, costs, sums_of
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows, RunResult
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.delta.control.compaction import ROWS_TOGETHER
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.delta.control.stored_columns import EVENTS, schema_of, table_of
from airflow_refresh_provider.ports.control import ControlStore, EventRow
from airflow_refresh_provider.runner.facts.ended_runs import RUN_ENDED
from airflow_refresh_provider.runner.hold.run_ends import end_of
from airflow_refresh_provider.runner.report.reports import costs_since
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from tests.contract.samples import REGISTER, moment, record

DAY = 86_400
NAMES = ("it's", "orders", "stock")


def ended(
    name: str, run_id: str, seconds: float, outcome: Outcome = Outcome.SUCCEEDED, **known: object
) -> HistoryEntry:
    """A run that ended so long after the first."""
    rows = Rows(inserted=3, updated=2, deleted=1, unchanged=9)
    result = RunResult(run_id=run_id, name=name, outcome=outcome, generation=1, mode="full", fell_back=True, rows=rows)
    fields = {"name": name, "run_id": run_id, "outcome": outcome, "at": moment(seconds), "generation": 1}
    published = {"result": result} if outcome is Outcome.SUCCEEDED else {}
    return HistoryEntry.model_validate({**fields, **published, "elapsed_seconds": 40.0, **known})


SPENT = Spent(worked_seconds=12.345, spark_seconds=10.5, bytes_written=7)
CANCELLED = ended("orders", "again", DAY, Outcome.CANCELLED, elapsed_seconds=900.0)
ENTRIES = (
    ended("orders", "a", 1, spent=SPENT, bytes_to_read=2**40),
    ended("orders", "b", 2, spent=SPENT),
    ended("orders", "again", DAY + 1, spent=SPENT, bytes_to_read=0),
    ended("it's", "c'", DAY, Outcome.FAILED),
    ended("stock", "d", 2 * DAY, Outcome.ABANDONED, spent=SPENT),
)
"""The last end of each run."""


def without_figures(row: EventRow) -> EventRow:
    """As an earlier version has written it."""
    return EventRow.model_validate(row.model_dump(include={"name", "run_id", "event", "generation", "at", "detail"}))


def fill(store: ControlStore, rows: Sequence[EventRow]) -> None:
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    for row in rows:
        store.add_event(row)


def found(store: ControlStore, since: datetime, names: Sequence[str] = NAMES) -> Sums:
    return costs_since(memory_ports(MemoryLake(), store), names, since)


def same(one: Sums, other: Sums) -> bool:
    return all(costs(one, by, {}) == costs(other, by, {}) for by in CostsBy)


@pytest.mark.parametrize("since", [0, 1.5, DAY + 0.5, 3 * DAY])
@pytest.mark.parametrize("older", [(), (1,), (2,), (5,), (0, 1, 2, 3, 4, 5)], ids=str)
def test_each_run_counts_once_by_its_last_end(
    doors: Callable[[], ControlStore], older: tuple[int, ...], since: float
) -> None:
    """`older`: which rows an earlier version has written."""
    ends = [*map(end_of, (CANCELLED, *ENTRIES))]
    fill(doors(), [without_figures(row) if number in older else row for number, row in enumerate(ends)])
    expected = sums_of(entry for entry in ENTRIES if entry.at >= moment(since))
    assert same(found(doors(), moment(since)), expected)


@pytest.mark.parametrize("more", [0, 99])
@pytest.mark.parametrize("older", [(), (0, 3), (0, 1, 2, 3, 4)], ids=str)
def test_only_definitions_and_events_that_are_asked_for_count(
    store: ControlStore, older: tuple[int, ...], more: int
) -> None:
    """`more`: definitions that have no runs."""
    assert found(store, moment(0)) == Sums()
    ends = [without_figures(end_of(one)) if n in older else end_of(one) for n, one in enumerate(ENTRIES)]
    fill(store, [*ends, end_of(CANCELLED), end_of(ENTRIES[0]).model_copy(update={"event": "other", "run_id": "x"})])
    names = ["it's", "gone", *(f"none_{number}" for number in range(more))]
    assert same(found(store, moment(0), names), sums_of(ENTRIES[3:4]))
    assert found(store, moment(0), []) == Sums()


def test_summaries_are_not_read_where_the_figures_are_known(tmp_path: Path) -> None:
    store = DeltaControlStore(str(tmp_path))
    fill(store, [end_of(entry).model_copy(update={"detail": "no summary"}) for entry in ENTRIES])
    assert same(found(store, moment(0)), sums_of(ENTRIES))
    assert store.costs_since(RUN_ENDED, NAMES, moment(0)).others == ()


def test_a_table_without_figures_is_read_by_its_summaries_until_the_next_end_adds_the_columns(tmp_path: Path) -> None:
    store = DeltaControlStore(str(tmp_path))
    fill(store, [])
    columns = tuple(column for column in EVENTS if not column.nullable or column.name == "run_id")
    DeltaTable.create(tmp_path / "events", schema=schema_of(columns))
    rows = [without_figures(end_of(entry)).model_dump() for entry in ENTRIES[:2]]
    write_deltalake(tmp_path / "events", table_of(columns, rows), mode="append")
    assert same(found(store, moment(0)), sums_of(ENTRIES[:2]))
    store.add_event(end_of(ENTRIES[2]))
    assert same(found(store, moment(0)), sums_of(ENTRIES[:3]))
    assert len(store.costs_since(RUN_ENDED, NAMES, moment(0)).others) == 2


def test_the_history_of_a_definition_lies_together_once_it_is_compacted(tmp_path: Path) -> None:
    store = DeltaControlStore(str(tmp_path))
    fill(store, [])
    table = ControlTable(str(tmp_path), "events")
    names = [f"table_{number:02}" for number in range(64)]
    one = end_of(ENTRIES[0])
    for part in range(2):
        ends = [
            one.model_copy(update={"name": name, "run_id": f"{part}-{run}", "at": one.at + timedelta(seconds=run)})
            for run in range(3 * ROWS_TOGETHER // len(names))
            for name in names
        ]
        table.append(table.open_or_create(), [row.model_dump() for row in ends])
    before = store.events("table_07")
    assert _rows_beside(tmp_path, "table_07") == 6 * ROWS_TOGETHER
    store.compact()
    assert _rows_beside(tmp_path, "table_07") <= 2 * ROWS_TOGETHER
    assert sorted(store.events("table_07"), key=str) == sorted(before, key=str)


def _rows_beside(root: Path, name: str) -> int:
    """How many rows are in groups that a read of a definition cannot pass over."""
    groups = [
        file.row_group(number)
        for file in (parquet.ParquetFile(place).metadata for place in DeltaTable(root / "events").file_uris())
        for number in range(file.num_row_groups)
    ]
    names = [(group.column(0).statistics, group.num_rows) for group in groups]
    return sum(rows for one, rows in names if one.min <= name <= one.max)
