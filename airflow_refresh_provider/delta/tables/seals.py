"""Seals without Spark: a commit that has a marker and a note, and no file."""

from __future__ import annotations

from deltalake import DeltaTable

from airflow_refresh_provider.core.plan.checkpoints import checkpoint_is_due
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.storage.object_stores import NO_PERMISSION
from airflow_refresh_provider.delta.tables.delta_table import features
from airflow_refresh_provider.delta.tables.stamped_commits import (
    NO_CHECKPOINT,
    committing,
    has_marker,
    next_version,
    opened_for,
)
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.seals import Unsealed
from airflow_refresh_provider.ports.tasks import Stamp

_ASK_NOTHING = frozenset({
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "columnMapping",
    "deletionVectors",
    "generatedColumns",
    "invariants",
    "timestampNtz",
    "v2Checkpoint",
    "variantType",
})  # fmt: skip
"""Features that ask nothing of a commit without files, and that delta-rs commits to."""
_FEATURELESS_WRITER = 5
"""The last writer version from before features had names with none but these."""


class DeltaSeals:
    """Of Delta tables by their location."""

    def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
        """Commit the stamp as the next version. Raises Conflict."""
        view = opened_for(target)
        if has_marker(view, stamp):
            return None
        if not _asks_nothing(view):
            return Unsealed.FEATURES
        if checkpoint_is_due(view.version(), view.metadata().configuration):
            return Unsealed.CHECKPOINT
        try:
            _commit(view, target.location, stamp)
        except Failed as error:
            if error.code != NO_PERMISSION:
                raise
            return Unsealed.DENIED
        return None


def _commit(view: DeltaTable, location: str, stamp: Stamp) -> None:
    with committing(location):
        view.create_write_transaction(
            [],
            "append",
            view.schema(),
            view.metadata().partition_columns,
            commit_properties=next_version(stamp),
            post_commithook_properties=NO_CHECKPOINT,
        )


def _asks_nothing(view: DeltaTable) -> bool:
    """Whether a commit without files is complete with its marker and note."""
    named = view.protocol().writer_features
    if named is None:
        return view.protocol().min_writer_version <= _FEATURELESS_WRITER
    return features(view) <= _ASK_NOTHING
