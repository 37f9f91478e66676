"""Whether values of a target can be added to exactly. Imported with every refresh, so without the SQL parser."""

from __future__ import annotations

import re

from airflow_refresh_provider.core.definition.columns import Columns, floating
from airflow_refresh_provider.core.maintain.plan import Sums

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
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
        and not any(floating(types[name]) or "collate" in types[name] for name in (*keys, *ordered))
        and not any("<" in types[name] for name in ordered)
    )


def _adds(type_name: str) -> bool:
    if decimal := _DECIMAL.fullmatch(type_name):
        return int(decimal[1]) <= _MOST_DIGITS or int(decimal[2]) <= _KEPT_SCALE
    return type_name in _INTEGERS
