"""Whether values of a target can be added to exactly. Imported with every refresh, so without the SQL parser."""

from __future__ import annotations

import re

from airflow_refresh_provider.core.definition.columns import INTEGERS, Columns, floating
from airflow_refresh_provider.core.maintain.plan import Sums

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
MOST_DOUBLE = 2**53
"""Spark adds up integers for an average as DOUBLE, which is exact below."""
_FEWEST = 1_000_000
"""Averages of fewer values are not worth to be tried."""
_ALL_DIGITS, _LEAST_SCALE, _DIGITS_OF_COUNT = 38, 6, 20
_MOST_DIGITS, _KEPT_SCALE = 36, 6
"""To add and to subtract takes two digits more. Where that is more than 38, Spark keeps no more than six of the scale.
"""


def exact(found: Sums, target: Columns) -> bool:
    """Whether the types of the target let its values be added to, and its keys be found, without a loss."""
    types = {column.name.lower(): column.type.lower() for column in target}
    ordered = (*found.least, *found.greatest)
    keys = types.keys() - set(found.columns)
    return (
        all(_adds(types[name]) for name in found.sums)
        and all(most_averaged(types[of], types[name]) >= _FEWEST for name, of in found.averages.items())
        and not any(floating(types[name]) or "collate" in types[name] for name in (*keys, *ordered))
        and not any("<" in types[name] for name in ordered)
    )


def most_averaged(sum_type: str, type_name: str) -> int:
    """Below how many values an average of this type is what Spark makes of their sum and number; 0 where it is not.

    Spark rounds the quotient of a decimal and a count to fewer digits than it has. Rounded once more, to those of the
    average, it is the same as rounded once, if there are enough digits between.
    """
    found, average = _DECIMAL.fullmatch(sum_type.lower()), _DECIMAL.fullmatch(type_name.lower())
    if not (found and average):
        return MOST_DOUBLE if sum_type in INTEGERS and type_name == "double" else 0
    digits, scale = int(found[1]), int(found[2])
    kept = min(scale + _DIGITS_OF_COUNT + 1, max(_LEAST_SCALE, _ALL_DIGITS - (digits - scale)))
    return int(10 ** max(0, kept - int(average[2])))


def _adds(type_name: str) -> bool:
    if decimal := _DECIMAL.fullmatch(type_name):
        return int(decimal[1]) <= _MOST_DIGITS or int(decimal[2]) <= _KEPT_SCALE
    return type_name in INTEGERS
