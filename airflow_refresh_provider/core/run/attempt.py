"""Who has held a run: one entry for its start and one for each take-over."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.run.owner import Owner
from airflow_refresh_provider.core.text.stored import Stored

MOST_KEPT = 32


class Attempt(Stored):
    """A start or a take-over of a run. `by` names the process that holds it from `at` on, as to other owners: the task
    of which DAG run, or the command; `host` is where it runs, and `origin` what it works for, such as a DAG run.
    """

    at: datetime
    by: str
    host: str
    origin: str | None = None


Attempts = tuple[Attempt, ...]
"""The first one and the newest ones of a run, oldest first; the counter of the run has those between, too."""


def with_attempt(before: Attempts, owner: Owner, at: datetime, origin: str | None) -> Attempts:
    """The attempts with one more, of which the oldest but the first is left out where they become too many."""
    found = (*before, Attempt(at=at, by=owner.label, host=owner.host, origin=origin))
    return found if len(found) <= MOST_KEPT else (found[0], *found[2:])
