"""The base of everything that is written to control tables or commit notes.

Stored models are frozen and refuse unknown fields, so a row written by a newer format never loses a field silently.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict


class Stored(BaseModel):
    """A frozen value that survives a round trip through JSON unchanged."""

    # Most commands use few of the models: a validator is built when its model is first used.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def to_json_value(value: Any) -> Any:
    """The value with bytes as hexadecimal digits, and anything unknown, such as a variant, as its text.

    Numbers that JSON does not have are "NaN", "Infinity" and "-Infinity".
    """
    match value:
        case dict():
            return {str(to_json_value(name)): to_json_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [to_json_value(inner) for inner in value]
        case bytes() | bytearray():
            return value.hex()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str() | Decimal() | date() | timedelta():
            return value
        case _:
            return str(value)
