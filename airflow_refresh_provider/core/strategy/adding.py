"""Whether a result can be added up from changed rows, or groups would be in doubt: then nothing is gained by trying."""

from __future__ import annotations

from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because

_MANY_GROUPS = 100_000
"""From so many groups on, adding up takes longer than it takes to find out."""
_FEW_ROWS = 10
"""In a group of fewer rows, one that went is often the least or the greatest."""


def doubt(sums: Sums, *, adds_only: bool, rows: int | None, groups: int) -> Reason | None:
    """Why groups would be in doubt, for an input of `rows` rows and a target of `groups` rows; None: add up.

    `adds_only`: no rows of the input have gone.
    """
    if adds_only:
        return None
    uncounted = sorted(name for name, counted in sums.sums.items() if counted is None)
    if uncounted:
        names = ", ".join(uncounted)
        return because(ReasonCode.DOUBTFUL_KEYS, f"rows went, and no count says how many values are left in {names}")
    ends = (*sums.least, *sums.greatest)
    if ends and groups >= _MANY_GROUPS and rows is not None and rows < _FEW_ROWS * groups:
        return because(
            ReasonCode.DOUBTFUL_KEYS,
            f"rows went, and in groups of few rows they may have been those with the values of {', '.join(ends)}",
        )
    return None
