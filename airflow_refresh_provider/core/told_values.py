"""Values of rows as they are told to people and programs: in forms that JSON has."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any


def told(value: Any) -> Any:
    """The value with bytes as hexadecimal digits, and anything unknown, such as a variant, as its text."""
    match value:
        case dict():
            return {str(name): told(inner) for name, inner in value.items()}
        case list() | tuple():
            return [told(inner) for inner in value]
        case bytes() | bytearray():
            return value.hex()
        case None | bool() | int() | float() | str() | Decimal() | date() | timedelta():
            return value
        case _:
            return str(value)
