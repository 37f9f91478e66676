"""What a load has found, in one line."""

from __future__ import annotations

from airflow_refresh_provider.core.plan.plan import Frozen
from airflow_refresh_provider.core.text.wording import counted


def found(frozen: Frozen) -> str:
    """What a load has found, and how it is applied."""
    units = frozen.current.units
    chunks = sum(len(unit.chunks) for unit in units)
    how = f"{counted(chunks, 'chunk')} in {counted(len(units), 'unit')}" if chunks else "no chunk"
    if frozen.current.changes is None and chunks:
        return f"found {frozen.source_rows:,} rows for an empty target: {how}"
    counts = frozen.counts()
    return (
        f"found {counts.inserted:,} rows to insert, {counts.updated:,} to update, {counts.deleted:,} to delete, "
        f"{frozen.unchanged:,} unchanged: {how}"
    )
