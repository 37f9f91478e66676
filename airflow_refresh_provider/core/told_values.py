"""Values of rows as they are told to people and programs: in forms that JSON has."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Any


def told(value: Any) -> Any:
    """The value with bytes as hexadecimal digits, and anything unknown, such as a variant, as its text.

    Numbers that JSON does not have are "NaN", "Infinity" and "-Infinity".
    """
    match value:
        case dict():
            return {str(told(name)): told(inner) for name, inner in value.items()}
        case list() | tuple():
            return [told(inner) for inner in value]
        case bytes() | bytearray():
            return value.hex()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str() | Decimal() | date() | timedelta():
            return value
        case _:
            return str(value)
