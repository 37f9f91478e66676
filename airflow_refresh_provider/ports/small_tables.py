"""Rewriting small tables without Spark: the changes are rows that Spark has computed and staged."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.ports.tasks import ApplyTask


class Unfit(StrEnum):
    """Why a table cannot be rewritten, and Spark has to merge the changes."""

    NOT_SMALL = "not_small"  # a checkpoint is due, or it is no longer small, or has other columns than were planned
    MISFIT = "misfit"  # its rows do not fit the changes: others have written
    DENIED = "denied"  # this process may not write it


class SmallTables(Protocol):
    """Tables of which `TableFacts.small` is true. Errors of storage are errors.Retry or errors.Failed."""

    def fits(self, target: Target, keys: tuple[str, ...], changes: StagedTable, base: int) -> bool:
        """Whether the target at version `base` has the one row that each update and delete means, and none of inserts.

        The changes of an input alone do not show that.
        """
        ...

    def rewrite(self, task: ApplyTask) -> Unfit | None:
        """Overwrite the target with its newest rows and the changes, in one commit that carries the stamp.

        It fails if another commit came first: raises errors.Conflict. A marker that is there already, or a younger
        one, is not committed again. Otherwise it says why nothing was committed.
        """
        ...
