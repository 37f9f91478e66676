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
    count(*) AS ends, count(worked_ms) AS runs, count(mode) AS published,
    count(CASE WHEN mode = {quoted(Mode.FULL.value)} THEN 1 END) AS "full", sum(fell_back) AS fell_back,
    sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted,
    sum(worked_ms) AS worked_ms, max(worked_ms) AS longest_ms, sum(spark_ms) AS spark_ms,
    sum(bytes_to_read) AS bytes_to_read, count(bytes_to_read) AS sized, sum(bytes_written) AS bytes_written
"""
_DAY = "date_trunc('day', at)"
_LISTED = 32
"""So many names are asked for by name; of more, those are left out that are not asked for: a long list takes longer to
plan than the sums of all."""


def added_up(table: ControlTable, view: DeltaTable, event: str, names: Collection[str], since: datetime) -> AddedUp:
    """The costs of these definitions since a moment; all rows where the table has no figures yet."""
    ends = f"event = {quoted(event)} AND at >= {quoted(since.isoformat())}"
    if len(names) <= _LISTED or table.lacks_columns(view):
        ends += f" AND name IN ({_list(names)})"
    if table.lacks_columns(view):
        return AddedUp(others=_rows(table, view, ends))
    repeated = _repeated(table, view, ends)
    found = _sums(table, view, f"{ends} AND NOT ({repeated or 'false'})")
    if others := {str(row["name"]) for row in found if row["name"] is not None} - set(names):
        ends += f" AND name NOT IN ({_list(others)})"
        found = _sums(table, view, f"{ends} AND NOT ({repeated or 'false'})")
    unknown = any(row["ends"] != row["runs"] for row in found)
    rows = _rows(table, view, f"{ends} AND ({repeated or 'false'} OR worked_ms IS NULL)") if repeated or unknown else ()
    return AddedUp(sums=_costs(found), others=tuple(row for row in rows if row.name in names))


def _repeated(table: ControlTable, view: DeltaTable, ends: str) -> str:
    """Which rows are of runs with several ends; empty where there are none."""
    again = table.select(view, f"SELECT run_id FROM events WHERE {ends} GROUP BY run_id HAVING count(*) > 1")
    return f"run_id IN ({_list(str(row['run_id']) for row in again)})" if again else ""


def _sums(table: ControlTable, view: DeltaTable, condition: str) -> list[Row]:
    """By definition, without a day, and by day, without a name. Rows without figures are in `ends` alone."""
    return table.select(
        view,
        f"SELECT name, {_DAY} AS day, {_FIGURES} FROM events WHERE {condition} "
        f"GROUP BY GROUPING SETS ((name), ({_DAY}))",
    )


def _costs(found: list[Row]) -> Sums:
    known = [row for row in found if row["runs"]]
    return Sums(
        by_definition=tuple(_cost(str(row["name"]), row) for row in known if row["name"] is not None),
        by_day=tuple(_cost(f"{row['day']:%Y-%m-%d}", row) for row in known if row["name"] is None),
    )


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
