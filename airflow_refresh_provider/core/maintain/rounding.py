"""Ends of spans, rounded outwards.

Spark writes the numbers of a condition into the code that it compiles for the scan: with other ends at each refresh it
would compile, and the Java VM would optimize, the code of the largest reads each time.
"""

from __future__ import annotations

from datetime import date

from airflow_refresh_provider.core.definition.columns import INTEGER_BITS

_STEPS = 6
"""A span of scattered values ends on one of 2 ** 6 steps; what lies close together keeps its ends nearly."""
_LAST_DAY = (date.max - date(1970, 1, 1)).days


def rounded_out(low: int, high: int, type: str) -> tuple[int, int]:
    """A span that contains this one, within the values of a type of integers, of days or of microseconds."""
    step = 1 << max(0, (high - low).bit_length() - _STEPS)
    most = _LAST_DAY if type == "date" else (1 << INTEGER_BITS.get(type, 64) - 1) - 1
    return low // step * step, min(most, (high // step + 1) * step - 1)
