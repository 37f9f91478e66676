"""Which types Delta widens without rewriting files (table feature typeWidening): every value stays what it is."""

from __future__ import annotations

import re

_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "double"),
    "smallint": ("int", "bigint", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
_INTEGER_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
"""The digits before the point that Delta asks of a decimal in the place of an integer."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def widens(old: str, new: str) -> bool:
    """Whether Delta changes a column of type `old` to `new` in place."""
    if new in _WIDER.get(old, ()):
        return True
    becomes, was = _DECIMAL.fullmatch(new), _DECIMAL.fullmatch(old)
    if becomes is None:
        return False
    precision, scale = map(int, becomes.groups())
    if was is None:
        return old in _INTEGER_DIGITS and precision - scale >= _INTEGER_DIGITS[old]
    digits, places = map(int, was.groups())
    return scale >= places and precision - scale >= digits - places and new != old
