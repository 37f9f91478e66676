"""A refresh in one line, for logs and notes."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.history import Window
from airflow_refresh_provider.core.run.results import RunResult


def refreshed(result: RunResult) -> str:
    """How a refresh that was published went: rows, mode, windows, seconds."""
    rows = result.rows
    windows = "; ".join(
        f"{name} {Window(after=after, upto=upto).label}" for name, (after, upto) in result.windows.items()
    )
    return (
        f"refreshed {result.name}: +{rows.inserted:,} ~{rows.updated:,} -{rows.deleted:,} rows, {rows.unchanged:,} "
        f"unchanged; {result.mode}{f' ({windows})' if windows else ''}, as "
        f"{result.estimates.after(result.mode_reason or 'requested')}; "
        f"version {result.published_version}; {result.seconds:,.1f} s"
    )
