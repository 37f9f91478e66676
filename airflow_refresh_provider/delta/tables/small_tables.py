"""Small tables rewritten by delta-rs: the table's rows and a staged change set, in one commit.

Nothing is computed: Spark has computed and staged the changes. The table is read at its newest version, and the commit
is the next version or none: no row of another writer is lost, and a zombie commits nothing after its slot was fenced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from arro3.core import Array, DataType
from deltalake import ColumnProperties, DeltaTable, QueryBuilder, WriterProperties, write_deltalake

from airflow_refresh_provider.core.definition.columns import OP
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.delta.storage.object_stores import NO_PERMISSION, UntypedErrors, storage
from airflow_refresh_provider.delta.tables import staged_files
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.delta.tables.stamped_commits import (
    NO_CHECKPOINT,
    committing,
    has_marker,
    next_version,
    opened_for,
)
from airflow_refresh_provider.delta.tables.target_log import facts_of
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.small_tables import Unfit
from airflow_refresh_provider.ports.tasks import ApplyTask, Stamp

Keys = tuple[str, ...]

_WRITTEN = WriterProperties(compression="SNAPPY", default_column_properties=ColumnProperties(statistics_enabled="NONE"))
"""As Spark compresses: with properties of its own delta-rs compresses nothing, and the table would not stay small.
It rounds DECIMAL in statistics and leaves NaN out of them; a table of one file has little use for any."""


class SmallDeltaTables:
    """Delta tables by their location."""

    def fits(self, target: Target, keys: Keys, changes: StagedTable, base: int) -> bool:
        """Whether the target at `base` has one row for each update and delete, and none for inserts."""
        view = open_table(target.location, base)
        return view is not None and _changed(_rows(view, target.location), _staged(changes), keys) is not None

    def rewrite(self, task: ApplyTask) -> Unfit | None:
        """Overwrite the target with its newest rows and the changes. Raises Conflict."""
        location, stamp = task.target.location, task.stamp
        view = opened_for(task.target)
        if has_marker(view, stamp):
            return None
        found = facts_of(view, location)
        if task.changes is None or not found.small or found.types != task.target.columns:
            return Unfit.NOT_SMALL
        rows = _changed(_rows(view, location), _staged(task.changes), task.source.keys)
        if rows is None:
            return Unfit.MISFIT
        try:
            overwrite(view, location, rows, stamp)
        except Failed as error:
            if error.code != NO_PERMISSION:
                raise
            return Unfit.DENIED
        return None


def _rows(view: DeltaTable, location: str) -> Any:
    """All rows of a table, without those that deletion vectors hide."""
    import pyarrow as pa  # type: ignore[import-untyped]  # slow to import

    doing = "reading the target"
    with storage(doing, location), UntypedErrors(doing, location):
        rows = QueryBuilder().register("t", view).execute("SELECT * FROM t")
        found = pa.RecordBatchReader.from_stream(rows).read_all()
    return found.cast(pa.schema(view.schema().to_arrow()))  # texts are views, which pyarrow cannot filter


def _staged(changes: StagedTable) -> Any:
    return staged_files.rows_in(changes.location)


def _changed(rows: Any, changes: Any, keys: Keys) -> Any | None:
    """The rows after the changes, None where these do not fit."""
    import pyarrow as pa

    op_of_row = changes[OP].to_pylist()
    ops = dict(zip(_values(changes, keys), op_of_row, strict=True))
    there = _values(rows, keys)
    found = Counter(key for key in there if key in ops)
    if len(ops) < changes.num_rows or any(found[key] != (op != "I") for key, op in ops.items()):
        return None
    kept = rows.filter(_mask(key not in ops for key in there))
    new = changes.filter(_mask(op != "D" for op in op_of_row)).select(rows.column_names)
    return pa.concat_tables([kept, new.cast(rows.schema)])


def _mask(kept: Iterable[bool]) -> Any:
    """Which rows are kept, as an array. pyarrow would import pandas to make one of values of Python."""
    import pyarrow as pa

    return pa.array(Array(list(kept), DataType.bool()))


def _values(rows: Any, keys: Keys) -> list[tuple[object, ...]]:
    """The key of each row; the case of names does not count."""
    names = {name.lower(): name for name in rows.column_names}
    return list(zip(*(rows[names[key.lower()]].to_pylist() for key in keys), strict=True))


def overwrite(view: DeltaTable, location: str, rows: Any, stamp: Stamp) -> None:
    """Commit a table of Arrow as the version after the one that was opened. Raises Conflict where there is one."""
    with committing(location):
        write_deltalake(
            view,
            rows,
            mode="overwrite",
            writer_properties=_WRITTEN,
            commit_properties=next_version(stamp),
            post_commithook_properties=NO_CHECKPOINT,
        )
