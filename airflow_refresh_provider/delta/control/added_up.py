"""What ended runs have cost, added up from the figures of their events: the summaries are not read.

A run may have several ends in the index, of which the last counts; and rows of earlier versions have no figures. Those
are given back as they are. Both are rare, or become so as the history moves on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from deltalake import DeltaTable

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.costs import Cost, Sums
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row, quoted
from airflow_refresh_provider.ports.control import AddedUp, EventRow

_FIGURES = f"""
    count(worked_ms) AS runs, count(mode) AS published,
    count(CASE WHEN mode = {quoted(Mode.FULL.value)} THEN 1 END) AS "full", coalesce(sum(fell_back), 0) AS fell_back,
    named_struct(
        'inserted', coalesce(sum(inserted), 0),
        'updated', coalesce(sum(updated), 0),
        'deleted', coalesce(sum(deleted), 0)
    ) AS "rows",
    sum(worked_ms) / 1e3 AS worked_seconds, max(worked_ms) / 1e3 AS longest_seconds,
    sum(spark_ms) / 1e3 AS spark_seconds,
    sum(bytes_to_read) AS bytes_to_read, count(bytes_to_read) AS sized, sum(bytes_written) AS bytes_written
"""
"""The fields of a `Cost`."""
_COUNTED = "mode, fell_back, inserted, updated, deleted, worked_ms, spark_ms, bytes_to_read, bytes_written"
"""The columns that they are made of."""
_NO_FIGURES = ("name", "day", "ends")
_LISTED = 32
"""So many names are asked for by name; of more, those are left out that are not asked for: a long list takes longer to
plan than the sums of all."""

Select = Callable[[str], list[Row]]


def added_up(table: ControlTable, view: DeltaTable, event: str, names: Collection[str], since: datetime) -> AddedUp:
    """The costs of these definitions since a moment; all rows where the table has no figures yet."""
    select = table.queries(view)
    ends = f"event = {quoted(event)} AND at >= {quoted(since.isoformat())}"
    if len(names) <= _LISTED or table.lacks_columns(view):
        ends += f" AND name IN ({_list(names)})"
    if table.lacks_columns(view):
        return AddedUp(others=_rows(select, ends))
    repeated = _repeated(select, ends)
    found = _sums(select, f"{ends} AND NOT ({repeated or 'false'})")
    if others := {str(row["name"]) for row in found if row["name"] is not None} - set(names):
        ends += f" AND name NOT IN ({_list(others)})"
        found = _sums(select, f"{ends} AND NOT ({repeated or 'false'})")
    unknown = any(row["ends"] != row["runs"] for row in found)
    rows = _rows(select, f"{ends} AND ({repeated or 'false'} OR worked_ms IS NULL)") if repeated or unknown else ()
    return AddedUp(sums=_costs(found), others=tuple(row for row in rows if row.name in names))


def _repeated(select: Select, ends: str) -> str:
    """Which rows are of runs with several ends; empty where there are none."""
    again = select(f"SELECT run_id FROM events WHERE {ends} GROUP BY run_id HAVING count(*) > 1")
    return f"run_id IN ({_list(str(row['run_id']) for row in again)})" if again else ""


def _sums(select: Select, condition: str) -> list[Row]:
    """By definition, without a day, and by day, without a name. Rows without figures are in `ends` alone."""
    return select(
        f"WITH ended AS (SELECT name, date_trunc('day', at) AS day, {_COUNTED} FROM events WHERE {condition}) "
        f"SELECT name, day, count(*) AS ends, {_FIGURES} FROM ended GROUP BY GROUPING SETS ((name), (day))"
    )


def _costs(found: list[Row]) -> Sums:
    known = [row for row in found if row["runs"]]
    return Sums(
        by_definition=tuple(_cost(str(row["name"]), row) for row in known if row["name"] is not None),
        by_day=tuple(_cost(f"{row['day']:%Y-%m-%d}", row) for row in known if row["name"] is None),
    )


def _cost(of: str, row: Row) -> Cost:
    figures = {**row, "of": of}
    for name in _NO_FIGURES:
        del figures[name]
    return Cost.model_validate(figures)


def _rows(select: Select, condition: str) -> tuple[EventRow, ...]:
    rows = select(f"SELECT * FROM events WHERE {condition}")
    return tuple(sorted(map(EventRow.model_validate, rows), key=lambda row: row.at))


def _list(texts: Iterable[str]) -> str:
    return ", ".join(map(quoted, sorted(set(texts))))
