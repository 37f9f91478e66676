"""The state table: one row per transition, each written by compare-and-set.

Rows of a definition count up from 1, and each is committed under the definition's own appId with its number as the
version. A view names the row it was decided on; writing through it succeeds only if that row is still the newest and
no other writer commits meanwhile. delta-rs refuses two commits with one appId that race, but not one that is late,
so the number on the view is compared here. The log is cleaned after hours: a process that was stopped for longer
between reading and writing could write a version whose file is gone, which no reader sees. So every write is read back.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from pydantic import ValidationError

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.delta.control.control_table import ControlTable, compact_regularly, quoted
from airflow_refresh_provider.delta.storage.object_stores import STORAGE_ERRORS, check_room, translated
from airflow_refresh_provider.errors import Defect, Failed, Invalid, StaleSnapshot

KEEP_SUPERSEDED = timedelta(hours=1)

_DOING = "writing the control table state"


@dataclass(frozen=True)
class StateView:
    """One definition as read: its newest record, that row's number (0 = none), and the view it was read through."""

    name: str
    record: Record | None
    seq: int
    table: DeltaTable | None


@dataclass(frozen=True)
class StateTable:
    """All transitions of all definitions of one control root, in its table."""

    table: ControlTable
    # Rows are never changed, so one that was seen need not be read again: (table's id, name) -> number and record.
    _seen: dict[tuple[str, str], tuple[int, Record]] = field(default_factory=dict, compare=False, repr=False)

    def read(self, name: str) -> StateView:
        """The newest record of a definition, through a fresh view."""
        view = self.table.open()
        seq = _newest(view, name)
        if view is None or seq == 0:
            return StateView(name, None, 0, view)
        return StateView(name, self._seen_or_read(view, name, seq), seq, view)

    def write(self, read: StateView, record: Record, event: Event, at: datetime) -> StateView:
        """Add the row that follows the one read. Raises StaleSnapshot when another has."""
        check_room(_DOING, self.table.root)
        view = read.table or self.table.open_or_create()
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
            view = self._read_back(view, read.name, seq, nonce)
        compact_regularly(view, self.compact)
        return StateView(read.name, record, seq, view)

    def records(self) -> list[Record]:
        """The newest record of every definition, by name."""
        view = self.table.open()
        if view is None:
            return []
        rows = self.table.select(
            view,
            "SELECT s.record FROM state s JOIN (SELECT name, max(seq) AS seq FROM state GROUP BY name) newest "
            "ON s.name = newest.name AND s.seq = newest.seq ORDER BY s.name",
        )
        return [self._record(row) for row in rows]

    def compact(self) -> None:
        """Drop superseded rows, merge small files. Yields to other writers."""
        self._forget_superseded()
        self.table.compact()

    def _forget_superseded(self) -> None:
        """Remove rows that are not the newest of their definition and an hour older than the newest of all."""
        view = self.table.open()
        if view is None:
            return
        newest = self.table.select(view, "SELECT name, max(seq) AS seq FROM state GROUP BY name")
        if kept := ", ".join(quoted(f"{row['name']}/{row['seq']}") for row in newest):
            self.table.forget(view, KEEP_SUPERSEDED, f"concat(name, '/', CAST(seq AS STRING)) NOT IN ({kept})")

    def _seen_or_read(self, view: DeltaTable, name: str, seq: int) -> Record:
        key = (str(view.metadata().id), name)
        seen = self._seen.get(key)
        if seen is None or seen[0] != seq:
            seen = seq, self._record(self._row(view, name, seq))
            self._seen[key] = seen
        return seen[1]

    def _read_back(self, written: DeltaTable, name: str, seq: int, nonce: str) -> DeltaTable:
        """A fresh view that has the row. Raises StaleSnapshot when the log was cleaned where it was written."""
        view = self.table.open()
        if view is not None and view.version() == written.version():
            return view
        if view is None or _newest(view, name) < seq or self._row(view, name, seq)["nonce"] != nonce:
            raise StaleSnapshot
        return view

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
        if self._row(view, name, seq)["nonce"] != nonce:
            raise StaleSnapshot from error
        return view

    def _row(self, view: DeltaTable, name: str, seq: int) -> dict[str, object]:
        rows = self.table.select(view, f"SELECT nonce, record FROM state WHERE name = {quoted(name)} AND seq = {seq}")
        if len(rows) != 1:
            raise Defect(
                "state_row_lost",
                f"{self.table.location} has {len(rows)} rows with seq {seq} of {name}, expected one",
                left="Nothing was changed.",
                next="Report this, with a copy of the table.",
            )
        return rows[0]

    def _record(self, row: dict[str, object]) -> Record:
        try:
            return Record.model_validate_json(str(row["record"]))
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


def _app_id(name: str) -> str:
    return f"definition/{name}"


def _newest(view: DeltaTable | None, name: str) -> int:
    """The number of a definition's newest row as a view has it, 0 for none."""
    if view is None:
        return 0
    return view.transaction_version(_app_id(name)) or 0
