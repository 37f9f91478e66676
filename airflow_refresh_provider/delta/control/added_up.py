"""What ended runs have cost, added up from the figures of their events: the summaries are not read.

A run may have several ends in the index, of which the last counts; and rows of earlier versions have no figures. Those
are given back as they are. Both are rare, or become so as the history moves on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from deltalake import DeltaTable

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.costs import Cost, Sums
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row, quoted
from airflow_refresh_provider.ports.control import AddedUp, EventRow

_FIGURES = f"""
    count(*) AS runs, count(mode) AS published, count(CASE WHEN mode = {quoted(Mode.FULL.value)} THEN 1 END) AS "full",
    sum(fell_back) AS fell_back, sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted,
    sum(worked_ms) AS worked_ms, max(worked_ms) AS longest_ms, sum(spark_ms) AS spark_ms,
    sum(bytes_to_read) AS bytes_to_read, count(bytes_to_read) AS sized, sum(bytes_written) AS bytes_written
"""
_DAY = "date_trunc('day', at)"


def added_up(table: ControlTable, view: DeltaTable, event: str, names: Collection[str], since: datetime) -> AddedUp:
    """The costs of these definitions since a moment; all rows where the table has no figures yet."""
    ends = f"event = {quoted(event)} AND at >= {quoted(since.isoformat())} AND name IN ({_list(names)})"
    if table.lacks_columns(view):
        return AddedUp(others=_rows(table, view, ends))
    others = _others(table, view, ends)
    found = table.select(
        view,
        f"SELECT name, {_DAY} AS day, {_FIGURES} FROM events WHERE {ends} AND NOT ({others}) "
        f"GROUP BY GROUPING SETS ((name), ({_DAY}))",
    )
    return AddedUp(
        sums=Sums(
            by_definition=tuple(_cost(str(row["name"]), row) for row in found if row["name"] is not None),
            by_day=tuple(_cost(f"{row['day']:%Y-%m-%d}", row) for row in found if row["name"] is None),
        ),
        others=_rows(table, view, f"{ends} AND ({others})") if _any(table, view, f"{ends} AND ({others})") else (),
    )


def _others(table: ControlTable, view: DeltaTable, ends: str) -> str:
    """Which rows are not added up."""
    again = table.select(view, f"SELECT run_id FROM events WHERE {ends} GROUP BY name, run_id HAVING count(*) > 1")
    repeated = f" OR run_id IN ({_list(str(row['run_id']) for row in again)})" if again else ""
    return f"worked_ms IS NULL{repeated}"


def _any(table: ControlTable, view: DeltaTable, condition: str) -> bool:
    """Whether there are such rows, without reading their summaries."""
    return bool(table.select(view, f"SELECT name FROM events WHERE {condition} LIMIT 1"))


def _rows(table: ControlTable, view: DeltaTable, condition: str) -> tuple[EventRow, ...]:
    rows = table.select(view, f"SELECT * FROM events WHERE {condition}")
    return tuple(sorted(map(EventRow.model_validate, rows), key=lambda row: row.at))


def _list(texts: Iterable[str]) -> str:
    return ", ".join(map(quoted, sorted(set(texts))))


def _cost(of: str, row: Row) -> Cost:
    counts = {name: value for name, value in row.items() if isinstance(value, int)}
    spark = counts.get("spark_ms")
    return Cost(
        of=of,
        runs=counts["runs"],
        published=counts["published"],
        full=counts["full"],
        fell_back=counts.get("fell_back", 0),
        rows=Rows(**{name: counts.get(name, 0) for name in ("inserted", "updated", "deleted")}),
        worked_seconds=counts["worked_ms"] / 1000,
        longest_seconds=counts["longest_ms"] / 1000,
        spark_seconds=None if spark is None else spark / 1000,
        bytes_to_read=counts.get("bytes_to_read"),
        bytes_written=counts.get("bytes_written"),
        sized=counts["sized"],
    )
