"""How long the parts of a load took: the next estimates are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_refresh_provider.core.text.stored import Stored


class LoadSeconds(Stored):
    """Seconds of one load, in the process that has frozen its plan.

    `finding`: until it was known which values the changes touch, or, without such values, how they change the result;
    `following`: from there to a change set. Both are null where changes were not followed to their end. `whole`:
    computing and comparing everything, null where that was not done. `other`: what neither way would have taken, such
    as comparing both, or following changes up to where everything was compared.
    """

    finding: float | None = None
    following: float | None = None
    whole: float | None = None
    other: float = 0.0

    @property
    def total(self) -> float:
        """All of them together."""
        return sum(part for part in (self.finding, self.following, self.whole, self.other) if part is not None)


@dataclass(frozen=True)
class LoadMoments:
    """When the parts of a load ended: `changes` were read or left, everything was `computed` if need be, and `ended`.

    `touched`: when the touched values were known, None without such values.
    """

    began: datetime
    changes: datetime
    computed: datetime
    ended: datetime
    touched: datetime | None = None

    def seconds(self, *, followed: bool, whole: bool) -> LoadSeconds:
        """How long they took. `followed`: changes were, to their end; `whole`: everything was computed."""
        known = self.touched or self.changes
        until = self.changes if followed else self.began
        return LoadSeconds(
            finding=_seconds(self.began, known) if followed else None,
            following=_seconds(known, until) if followed else None,
            whole=_seconds(self.changes, self.computed) if whole else None,
            other=_seconds(until, self.changes) + _seconds(self.computed, self.ended),
        )


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)
