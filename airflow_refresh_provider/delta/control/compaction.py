"""How control tables stay small: small files are merged, rows that are not needed any more are removed.

Files that were replaced so are deleted, of the data and of the log.

It is done by the writer whose commit is due for it, and yields to other writers: what meets another commit is left for
next time. What is rewritten each time has a limit, however long the history is: files that are full are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import accumulate, takewhile
from typing import Any

from deltalake import CommitProperties, DeltaTable, QueryBuilder, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError

from airflow_refresh_provider.delta.control.control_table import CHECKPOINT_ONLY, PROPERTIES, ControlTable, quoted
from airflow_refresh_provider.delta.control.replaced_files import ReplacedFiles
from airflow_refresh_provider.delta.storage.object_stores import storage
from airflow_refresh_provider.errors import RefreshError

MERGE_EVERY = 16
"""Commits after which small files are merged in a table that is read whole: to open one takes longer than its rows."""
COMPACT_EVERY = 64
"""Those after which they are merged in any table."""
MAINTAIN_EVERY = 8 * COMPACT_EVERY
"""Those after which old rows are removed, and larger files are rewritten."""

SMALL_BYTES = 512 * 1024
"""Files that are this large are not merged again until the table is maintained."""
MERGED_BYTES = 8 * 1024 * 1024
"""Those that are this large are never merged again."""
ORDERED_ROWS = 65_536
"""A file of an ordered table that has so many rows is left alone: they are sorted in memory."""
ROWS_TOGETHER = 1024
"""Rows of a row group, decoded together: few enough to find those of one definition among many."""

_UNCOMMITTED_KEPT_HOURS = 7 * 24
"""What no version of the table names is deleted after so long: a file of a process that has died, or one whose commit
is still to come. As long as VACUUM keeps such files."""

_WRITTEN = WriterProperties(compression="ZSTD", max_row_group_size=ROWS_TOGETHER)

File = dict[str, Any]
"""Path, size and statistics of a data file."""
Act = Callable[[DeltaTable], object]
"""Something that is done to a table through a fresh view."""


class Compaction:
    """Of one control table. `schedule`: what is done after every so many commits; of several only the rarest."""

    def __init__(self, table: ControlTable, schedule: Mapping[int, Sequence[Act]]) -> None:
        self._table = table
        self._schedule = schedule
        self._replaced = ReplacedFiles(table.location)

    def after(self, version: int) -> None:
        """What is due after the commit of this version. That is in, so a failure here is ignored."""
        if due := [every for every in self._schedule if version % every == 0]:
            with suppress(RefreshError):
                self.do(self._schedule[max(due)])

    def now(self) -> None:
        """What is done most rarely, without waiting for it."""
        self.do(self._schedule[max(self._schedule)])

    def do(self, acts: Sequence[Act]) -> None:
        """Do this to the table, if it is there; then delete what was replaced minutes ago."""
        doing = f"compacting the control table {self._table.name}"
        with storage(doing, self._table.location):
            view = self._table.open()
            if view is None:
                return
            seen = _paths(view)
            for act in (_with_properties, *acts):
                with suppress(CommitFailedError):
                    act(view)
                view = DeltaTable(self._table.location)
                seen |= _paths(view)  # of a file that one act writes and the next replaces, too
            live = _paths(view)
            if replaced := seen - live:
                self._replaced.note(replaced)
            self._replaced.delete_old(live)
            view.cleanup_metadata()


def merged(most_bytes: int) -> Act:
    """Files that are smaller are put together, up to this size."""
    return lambda view: view.optimize.compact(
        target_size=most_bytes, writer_properties=_WRITTEN, post_commithook_properties=CHECKPOINT_ONLY
    )


def without_older(kept: timedelta, condition: Callable[[DeltaTable], str] = lambda _: "true") -> Act:
    """Rows are removed that are so much older than the newest and fulfil a condition.

    A row added since the view was opened is in a file that is not touched, so it cannot be lost.
    """

    def remove(view: DeltaTable) -> None:
        moments = [file["max.at"] for file in _files(view)]
        if newest := max(moments, default=None):
            view.delete(
                f"at < {_literal(newest - kept)} AND {condition(view)}", post_commithook_properties=CHECKPOINT_ONLY
            )

    return remove


def ordered(by: str, full: int = ORDERED_ROWS) -> Act:
    """The newest rows lie in the order of a column, so that those with one value are read without the others.

    These are the rows of the newest files up to the first that is full, which has so many rows. Rows of others that
    come meanwhile are newer.
    """

    def order(view: DeltaTable) -> None:
        files = _not_full(sorted(_files(view), key=lambda file: file["max.at"], reverse=True), full)
        if len(files) < 2:  # one file was ordered when it was written
            return
        since, until = min(file["min.at"] for file in files), files[0]["max.at"] + timedelta(milliseconds=1)
        span = f"at >= {_literal(since)} AND at < {_literal(until)}"  # statistics have milliseconds
        rows = QueryBuilder().register("t", view).execute(f"SELECT * FROM t WHERE {span} ORDER BY {by}, at").read_all()
        write_deltalake(
            view,
            rows,
            mode="overwrite",
            predicate=span,
            writer_properties=_WRITTEN,
            commit_properties=CommitProperties(max_commit_retries=COMPACT_EVERY),
            post_commithook_properties=CHECKPOINT_ONLY,
        )

    return order


def without_uncommitted(view: DeltaTable) -> None:
    """Files are deleted that no commit has named for a week."""
    view.vacuum(_UNCOMMITTED_KEPT_HOURS, dry_run=False, full=True, post_commithook_properties=CHECKPOINT_ONLY)


def _with_properties(view: DeltaTable) -> None:
    """Tables of earlier versions are given the properties of new ones."""
    if {name: view.metadata().configuration.get(name) for name in PROPERTIES} != PROPERTIES:
        view.alter.set_table_properties(PROPERTIES)


def _files(view: DeltaTable) -> list[File]:
    found = view.get_add_actions(flatten=True)
    columns = {name: found[name].to_pylist() for name in found.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _not_full(newest_first: Sequence[File], full: int) -> list[File]:
    """The first files, up to one that is full; no more than two full files would hold."""
    rows = accumulate(file["num_records"] for file in newest_first)
    files = zip(newest_first, rows, strict=True)
    return [f for f, _ in takewhile(lambda at: at[0]["num_records"] < full and at[1] < 2 * full, files)]


def _paths(view: DeltaTable) -> set[str]:
    return set(view.get_add_actions(flatten=True)["path"].to_pylist())


def _literal(moment: datetime) -> str:
    return quoted(moment.isoformat())
