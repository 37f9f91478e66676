"""Seals that this process commits itself: Spark takes up to a second for a commit without rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.tasks import Stamp


class Unsealed(StrEnum):
    """Why this process cannot seal a target, and Spark has to."""

    FEATURES = "table_features"  # the table has features that ask more of a commit than delta-rs does
    CHECKPOINT = "checkpoint_due"  # a checkpoint goes with the next commit
    DENIED = "denied"  # this process may not write it


class Seals(Protocol):
    """Seals of targets at whose data no statement of a refresh is at work any more. Fences are Spark's (ADR 74)."""

    def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
        """Commit the stamp and nothing else as the next version of the target.

        It fails if another commit came first: raises errors.Conflict. A marker that is there already, or a younger
        one, is not committed again. Otherwise it says why nothing was committed. Errors of storage are errors.Retry or
        errors.Failed.
        """
        ...
