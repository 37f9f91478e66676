"""One control table: rows appended in commits of their own, read by SQL, kept small.

Every COMPACT_EVERY commits the writer merges the small files, and deletes those that were replaced an hour ago: a view
is read within seconds of being opened. Files that a commit in progress has written are not touched, however old they
are. In a table that is read whole, those of MERGE_EVERY commits are merged in between: to open a file takes longer than
to read its few rows.
That is bookkeeping: when it meets another writer it leaves it for next time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from deltalake import (
    CommitProperties,
    DeltaTable,
    Field,
    QueryBuilder,
    Schema,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from airflow_refresh_provider.delta.control.stored_columns import (
    CONTROL_TABLES,
    Kind,
    StoredColumn,
    schema_of,
    table_of,
)
from airflow_refresh_provider.delta.storage.object_stores import UntypedErrors, check_room, storage
from airflow_refresh_provider.errors import RefreshError

COMPACT_EVERY = 64
ORDER_EVERY = 8 * COMPACT_EVERY
MERGE_EVERY = 16

Row = dict[str, object]

_RETRIES = 100  # of a commit that met one it does not conflict with
_MERGED_BYTES = 16 * 1024 * 1024
"""Files that are this large are not merged again."""
_SMALL_BYTES = 256 * 1024
"""Those that are this large are not merged between two compactions."""

ROWS_TOGETHER = 4096
"""Rows of a row group, decoded together: few enough to find those of one definition among many."""

_WRITTEN = WriterProperties(compression="ZSTD", max_row_group_size=ROWS_TOGETHER)

_PROPERTIES: dict[str, str] = {
    # Opening a table, and a commit to it, read each commit since the last checkpoint.
    "delta.checkpointInterval": "20",
    # A checkpoint lists the files that were removed within this time.
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    # Each write lists the log: 300 tables make 25,000 commits an hour. A write through a view whose log was cleaned
    # meanwhile is found by reading it back (`StateTable.write`).
    "delta.logRetentionDuration": "interval 15 minutes",
}


@dataclass(frozen=True)
class ControlTable:
    """A table of a control root, by name."""

    root: str
    name: str
    replaced_kept_hours: int = 1

    @property
    def location(self) -> str:
        """Where it is."""
        return f"{self.root}/{self.name}"

    @property
    def columns(self) -> tuple[StoredColumn, ...]:
        """What it holds."""
        return CONTROL_TABLES[self.name]

    def open(self) -> DeltaTable | None:
        """A fresh view, None when nothing was ever written."""
        with storage(f"reading the control table {self.name}", self.location):
            try:
                return DeltaTable(self.location)
            except TableNotFoundError:
                return None

    def open_or_create(self) -> DeltaTable:
        """A fresh view of the table, created when it is not there, with the columns that later versions have added."""
        found = self.open()
        if found is not None:
            return self.completed(found)
        check_room(f"creating the control table {self.name}", self.location)
        with storage(f"creating the control table {self.name}", self.location):
            skipping = ",".join(c.name for c in self.columns if c.kind is not Kind.TEXT or c.name in ("name", "run_id"))
            properties: dict[str, str | None] = {**_PROPERTIES, "delta.dataSkippingStatsColumns": skipping}
            try:
                return DeltaTable.create(
                    self.location, schema=schema_of(self.columns), mode="ignore", configuration=properties
                )
            except DeltaError:
                created = self.open()  # another writer was first
                if created is None:
                    raise
                return created

    def completed(self, view: DeltaTable) -> DeltaTable:
        """The table with all columns; those that an earlier version did not have are nullable."""
        missing = self._missing(view)
        if not missing:
            return view
        with storage(f"adding columns to the control table {self.name}", self.location):
            try:
                view.alter.add_columns(missing)
            except DeltaError:
                view = self.open() or view  # another writer was first
                if self._missing(view):
                    raise
        return view

    def lacks_columns(self, view: DeltaTable) -> bool:
        """Whether columns are missing that later versions have added, and nothing was written since."""
        return bool(self._missing(view))

    def _missing(self, view: DeltaTable) -> list[Field]:
        there = {field.name for field in view.schema().fields}
        return [field for field in Schema.from_arrow(schema_of(self.columns)).fields if field.name not in there]

    def append(self, view: DeltaTable, rows: list[Row], transaction: Transaction | None = None) -> None:
        """Append through exactly this view; raises what delta-rs raises.

        Commits of others are stepped over, but for one with the same appId as `transaction`.
        """
        write_deltalake(
            view,
            table_of(self.columns, rows),
            mode="append",
            commit_properties=CommitProperties(
                app_transactions=[transaction] if transaction else None, max_commit_retries=_RETRIES
            ),
        )

    def select(self, view: DeltaTable, sql: str) -> list[Row]:
        """Rows of a query over the table, which goes by its name."""
        return self.queries(view)(sql)

    def queries(self, view: DeltaTable) -> Callable[[str], list[Row]]:
        """As `select`, for several queries over one view, which is made known to the query engine once."""
        doing, builder = f"reading the control table {self.name}", QueryBuilder().register(self.name, view)

        def select(sql: str) -> list[Row]:
            with storage(doing, self.location), UntypedErrors(doing, self.location):
                found = builder.execute(sql).read_all()
            values = [found[name].to_pylist() for name in found.column_names]
            return [dict(zip(found.column_names, row, strict=True)) for row in zip(*values, strict=True)]

        return select

    def forget(self, view: DeltaTable, kept: timedelta, also: str = "true") -> None:
        """Remove rows that are so much older than the newest and fulfil a condition. Yields to other writers.

        A row added since the view was opened is in a file that is not touched, so it cannot be lost.
        """
        (last,) = self.select(view, f"SELECT max(at) AS at FROM {self.name}")
        if not isinstance(newest := last["at"], datetime):
            return
        before = quoted((newest - kept).isoformat())
        with storage(f"compacting the control table {self.name}", self.location), suppress(CommitFailedError):
            view.delete(f"at < {before} AND {also}")

    def merge(self) -> None:
        """Put the files of the last commits together, and leave the others as they are. Yields to other writers."""
        if view := self.open():
            with storage(f"merging files of the control table {self.name}", self.location), suppress(CommitFailedError):
                view.optimize.compact(target_size=_SMALL_BYTES, writer_properties=_WRITTEN)

    def compact(self, ordered_by: str | None = None) -> None:
        """Merge small files, delete those that were replaced. Yields to other writers.

        `ordered_by`: write all rows again in the order of this column, so that those with one value lie together.
        """
        view = self.open()
        if view is None:
            return
        with storage(f"compacting the control table {self.name}", self.location), suppress(CommitFailedError):
            if {name: view.metadata().configuration.get(name) for name in _PROPERTIES} != _PROPERTIES:
                view.alter.set_table_properties(_PROPERTIES)
            if ordered_by is None:
                view.optimize.compact(target_size=_MERGED_BYTES, writer_properties=_WRITTEN)
            else:
                view.optimize.z_order([ordered_by], target_size=_MERGED_BYTES, writer_properties=_WRITTEN)
            view.vacuum(self.replaced_kept_hours, dry_run=False, enforce_retention_duration=False)


def compact_regularly(view: DeltaTable, compactions: Mapping[int, Callable[[], None]]) -> None:
    """After every so many commits do what is to be done then; of several that are due only the rarest.

    The commit itself is in, so a failure here is ignored.
    """
    if due := [every for every in compactions if view.version() % every == 0]:
        with suppress(RefreshError):
            compactions[max(due)]()


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
