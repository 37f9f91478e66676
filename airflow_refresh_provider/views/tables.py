"""Results as tables, for every user interface. The columns of each model are in the modules that are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.run.admin_results import Recovery, Registration, Validated
from airflow_refresh_provider.core.run.alert import Alert, Alerts
from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.core.run.reports import DueReport, Freshness
from airflow_refresh_provider.core.run.results import RefreshesResult, RefreshStep
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.views import (
    alert_tables,  # noqa: F401 - it registers
    definition_tables,  # noqa: F401 - it registers
    explanation_tables,  # noqa: F401 - it registers
    formats,
    run_tables,  # noqa: F401 - it registers
)
from airflow_refresh_provider.views.explanation_lines import advice_lines, unfollowed_lines
from airflow_refresh_provider.views.result_table import ResultTable, details, row


def table_of(result: Stored | list[Stored]) -> ResultTable:
    """One result as a list of names and values, several as a table."""
    if isinstance(result, RefreshesResult):
        return _rows_of(list(result.refreshes))
    if isinstance(result, Alerts):
        return _rows_of(list(result.alerts))
    if isinstance(result, list):
        return details(result[0]) if len(result) == 1 and isinstance(result[0], Explanation) else _rows_of(result)
    return details(result)


def _rows_of(results: list[Stored]) -> ResultTable:
    """A row for each, and below them the notes and the errors."""
    if not results:
        return ResultTable((), (), ("nothing to show",))
    rows = [row(value) for value in results]
    lines = (*_notes(results), *_errors(results))
    return ResultTable(tuple(rows[0]), tuple(tuple(values.values()) for values in rows), lines)


def _notes(results: Iterable[Stored]) -> Iterable[str]:
    for value in results:
        if isinstance(value, Registration | Validated):
            yield from (f"{value.name}: {notice.line}" for notice in value.notices)
        if isinstance(value, RefreshStep) and value.result:
            yield from (f"{value.name}: {notice.line}" for notice in value.result.notices)
        if isinstance(value, Alert):
            yield from ("", *value.text.splitlines())
        if isinstance(value, Freshness) and value.readable_until:
            yield f"{value.name}: its last refresh can be read until {formats.time(value.readable_until)}"
        if isinstance(value, Validated):
            yield from (f"{value.name}: {line}" for line in unfollowed_lines(value.explanation))
        if isinstance(value, Validated | Explanation):
            explained = value.explanation if isinstance(value, Validated) else value
            yield from advice_lines(explained)


def _errors(results: Iterable[Stored]) -> Iterable[str]:
    for value in results:
        if isinstance(value, RefreshStep | DueReport | Freshness | Recovery) and (error := value.error):
            yield f"{value.name}: {error.message} [{error.code}] {error.left} {error.next}"
