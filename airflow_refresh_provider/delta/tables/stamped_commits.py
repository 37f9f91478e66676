"""Commits of this process to a target: the version after the one that was opened, with marker and note, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError

from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.storage.object_stores import check_room, storage
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.errors import Conflict
from airflow_refresh_provider.ports.tasks import Stamp

NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""Spark writes checkpoints and cleans up the log. Hadoop's checksum beside a file of Spark's that is overwritten would
make Spark refuse that file."""


def opened_for(target: Target) -> DeltaTable:
    """The target at its newest version. Raises Conflict when another table is in its place."""
    view = open_table(target.location)
    if view is None or str(view.metadata().id) != target.table_id:
        raise _conflict("another table came into its place")
    return view


def has_marker(view: DeltaTable, stamp: Stamp) -> bool:
    """Whether the marker of a stamp, or a younger one, is in the table that was opened."""
    return (view.transaction_version(stamp.app_id) or 0) >= stamp.marker.version


def next_version(stamp: Stamp) -> CommitProperties:
    """A commit with the stamp that is the next version of the table or none."""
    return CommitProperties(
        app_transactions=[Transaction(stamp.app_id, stamp.marker.version)],
        custom_metadata={"userMetadata": stamp.note.text()},
        max_commit_retries=0,
    )


@contextmanager
def committing(location: str) -> Iterator[None]:
    """Inside, such a commit is made. Raises Conflict when another one came first."""
    check_room("writing the target", location)
    with storage("writing the target", location):
        try:
            yield
        except CommitFailedError as error:
            raise _conflict("another writer's commit came first") from error


def _conflict(why: str) -> Conflict:
    return Conflict(
        "concurrent_commit",
        f"the target could not be written: {why}",
        left="Nothing was committed to the target by this try.",
        next="Run again; the refresh resumes from its last commit.",
    )
