"""The state table: one row per transition, each written by compare-and-set.

Rows of a definition count up from 1, and each is committed under the definition's own appId with its number as the
version. A write opens a view of its own; it is made through that view, if the row that was decided on is still the
newest there, and succeeds only if no other writer commits meanwhile. delta-rs refuses two commits with one appId that
race, but not one that is late, so the numbers are compared here. The log is cleaned after minutes: a process that was
stopped for longer between opening and writing could write a version whose file is gone, which no reader sees. So every
write is read back.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from pydantic import ValidationError

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.delta.control.compaction import (
    COMPACT_EVERY,
    MAINTAIN_EVERY,
    MERGED_BYTES,
    Compaction,
    merged,
    without_older,
    without_uncommitted,
)
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row, quoted
from airflow_refresh_provider.delta.control.newest_rows import NewestRows, StoredRow
from airflow_refresh_provider.delta.storage.log_files import list_log
from airflow_refresh_provider.delta.storage.object_stores import STORAGE_ERRORS, check_room, translated
from airflow_refresh_provider.errors import Defect, Failed, Invalid, StaleSnapshot

KEEP_SUPERSEDED = timedelta(minutes=5)

_READ_ONE_BY_ONE = 8
"""Of more definitions than this, one read of the whole table is faster."""

_DOING = "writing the control table state"


@dataclass(frozen=True)
class StateView:
    """One definition as read: its newest record, and that row's number (0 = none)."""

    name: str
    record: Record | None
    seq: int


class StateTable:
    """All transitions of all definitions of one control root, in its table."""

    def __init__(self, table: ControlTable, compaction: type[Compaction]) -> None:
        self.table = table
        along = (without_older(KEEP_SUPERSEDED, self._superseded), merged(MERGED_BYTES))
        self.compaction = compaction(table, {COMPACT_EVERY: along, MAINTAIN_EVERY: (*along, without_uncommitted)})
        self._rows = NewestRows(table.location)

    def read(self, name: str) -> StateView:
        """The newest record of a definition as it is now."""
        row = self._rows.of(_app_id(name)) or self._read(name)
        return StateView(name, self._record(row), row.seq) if row else StateView(name, None, 0)

    def write(self, read: StateView, record: Record, event: Event, at: datetime) -> StateView:
        """Add the row that follows the one read. Raises StaleSnapshot when another has."""
        check_room(_DOING, self.table.root)
        view = self.table.open_or_create()
        if _newest(view, read.name) != read.seq:
            raise StaleSnapshot
        seq, nonce = read.seq + 1, uuid.uuid4().hex
        row: dict[str, object] = {
            "name": read.name,
            "seq": seq,
            "event": event.value,
            "state": record.state.value,
            "run_id": record.run.run_id if record.run else None,
            "generation": record.generation,
            "at": at,
            "nonce": nonce,
            "record": record.model_dump_json(),
        }
        try:
            self.table.append(view, [row], Transaction(_app_id(read.name), seq))
        except STORAGE_ERRORS as error:
            view = self._settled(read.name, seq, nonce, error)
        else:
            self._read_back(view, read.name, seq, nonce)
        self._rows.written(_app_id(read.name), StoredRow(seq, str(row["record"])))
        self.compaction.after(view.version())
        return StateView(read.name, record, seq)

    def records(self) -> list[Record]:
        """The newest record of every definition, by name. Of those that were read before, only newer ones are."""
        known = self._rows.every()
        missing = [app_id for app_id, row in known.items() if row is None] if known else []
        if known is None or len(missing) > _READ_ONE_BY_ONE:
            found = self._read_all()
        else:
            again = {app_id: self._read(_name_of(app_id)) for app_id in missing}
            found = {app_id: row for app_id, row in (known | again).items() if row}
        return [self._record(found[app_id]) for app_id in sorted(found)]

    def _read_all(self) -> dict[str, StoredRow]:
        """The newest row of every definition, by appId, through a fresh view."""
        view = self.table.open()
        if view is None:
            return {}
        rows = self.table.select(
            view,
            "SELECT s.name, s.seq, s.record FROM state s "
            "JOIN (SELECT name, max(seq) AS seq FROM state GROUP BY name) newest "
            "ON s.name = newest.name AND s.seq = newest.seq ORDER BY s.name",
        )
        found = {_app_id(str(row["name"])): _stored(row) for row in rows}
        self._rows.seen(view.version(), found, every=True)
        return found

    def _superseded(self, view: DeltaTable) -> str:
        """The condition of rows that are not the newest of their definition."""
        newest = self.table.select(view, "SELECT name, max(seq) AS seq FROM state GROUP BY name")
        kept = ", ".join(quoted(f"{row['name']}/{row['seq']}") for row in newest)
        return f"concat(name, '/', CAST(seq AS STRING)) NOT IN ({kept})"

    def _read(self, name: str) -> StoredRow | None:
        """The newest row of a definition through a fresh view; None when it has none."""
        view = self.table.open()
        seq = _newest(view, name)
        if view is None or seq == 0:
            return None
        row = _stored(self._newest_row(view, name, seq))
        self._rows.seen(view.version(), {_app_id(name): row})
        return row

    def _read_back(self, written: DeltaTable, name: str, seq: int, nonce: str) -> None:
        """Raises StaleSnapshot when readers do not get the row, because the log was cleaned where it was written."""
        log = list_log(self.table.location, since=written.version())
        if log is not None and log.read_from(written.version()):
            return
        view = self.table.open()
        if view is None or _newest(view, name) < seq or self._nonce(view, name, seq) != nonce:
            raise StaleSnapshot

    def _settled(self, name: str, seq: int, nonce: str, error: Exception) -> DeltaTable:
        """What became of a write that raised: in (a view that has it), beaten (StaleSnapshot), or not made.

        A commit that delta-rs refused without another row of this definition conflicted with the removal of old rows;
        it succeeds after reading again.
        """
        view = self.table.open()
        if view is None or _newest(view, name) < seq:
            if isinstance(error, CommitFailedError):
                raise StaleSnapshot from error
            raise translated(error, _DOING, self.table.location) from error
        if self._nonce(view, name, seq) != nonce:
            raise StaleSnapshot from error
        return view

    def _nonce(self, view: DeltaTable, name: str, seq: int) -> str | None:
        """The nonce of a row; None for one that others have superseded so long ago that it was removed."""
        rows = self._rows_of(view, name, seq)
        return str(rows[0]["nonce"]) if rows else None

    def _rows_of(self, view: DeltaTable, name: str, seq: int) -> list[Row]:
        return self.table.select(
            view, f"SELECT nonce, seq, record FROM state WHERE name = {quoted(name)} AND seq = {seq}"
        )

    def _newest_row(self, view: DeltaTable, name: str, seq: int) -> Row:
        rows = self._rows_of(view, name, seq)
        if len(rows) != 1:
            raise Defect(
                "state_row_lost",
                f"{self.table.location} has {len(rows)} rows with seq {seq} of {name}, expected one",
                left="Nothing was changed.",
                next="Report this, with a copy of the table.",
            )
        return rows[0]

    def _record(self, row: StoredRow) -> Record:
        try:
            return row.record
        except ValidationError as error:
            if any(found["loc"] == ("format",) for found in error.errors()):
                raise Invalid(
                    "newer_control_format",
                    f"a record in {self.table.location} was written by a newer version of airflow-refresh-provider",
                    next="Upgrade airflow-refresh-provider here.",
                ) from None
            raise Failed(
                "record_unreadable",
                f"a record in {self.table.location} is not one this program has written: {error.errors()[0]['msg']}",
                left="Nothing was changed.",
                next="Use the version of airflow-refresh-provider that wrote it.",
            ) from error


def _stored(row: dict[str, object]) -> StoredRow:
    return StoredRow(int(str(row["seq"])), str(row["record"]))


_OF_A_DEFINITION = "definition/"


def _app_id(name: str) -> str:
    return f"{_OF_A_DEFINITION}{name}"


def _name_of(app_id: str) -> str:
    return app_id.removeprefix(_OF_A_DEFINITION)


def _newest(view: DeltaTable | None, name: str) -> int:
    """The number of a definition's newest row as a view has it, 0 for none."""
    if view is None:
        return 0
    return view.transaction_version(_app_id(name)) or 0
