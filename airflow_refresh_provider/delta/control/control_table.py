"""One control table: rows appended in commits of their own, read by SQL. `compaction` keeps it small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deltalake import (
    CommitProperties,
    DeltaTable,
    Field,
    PostCommitHookProperties,
    QueryBuilder,
    Schema,
    Transaction,
    write_deltalake,
)
from deltalake.exceptions import DeltaError, TableNotFoundError

from airflow_refresh_provider.delta.control.stored_columns import (
    CONTROL_TABLES,
    Kind,
    StoredColumn,
    schema_of,
    table_of,
)
from airflow_refresh_provider.delta.storage.object_stores import UntypedErrors, check_room, storage

Row = dict[str, object]

_RETRIES = 100  # of a commit that met one it does not conflict with

CHECKPOINT_ONLY = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)
"""Commits leave cleaning up the log to compaction: it lists the whole log, which takes longer than the commit."""

PROPERTIES: dict[str, str] = {
    # Opening a table, and a commit to it, read each commit since the last checkpoint.
    "delta.checkpointInterval": "20",
    # Each checkpoint lists the files that were removed within this time, and each opening of the table reads it.
    "delta.deletedFileRetentionDuration": "interval 5 minutes",
    # Each write lists the log: 300 tables make 25,000 commits an hour. A write through a view whose log was cleaned
    # meanwhile is found by reading it back (`StateTable.write`).
    "delta.logRetentionDuration": "interval 5 minutes",
}


@dataclass(frozen=True)
class ControlTable:
    """A table of a control root, by name."""

    root: str
    name: str

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
            properties: dict[str, str | None] = {**PROPERTIES, "delta.dataSkippingStatsColumns": skipping}
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
            post_commithook_properties=CHECKPOINT_ONLY,
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


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
