"""Budgets: how long a run may apply chunks, and how much it may write, before it stops between two of them."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_refresh_provider.core.text.stored import Stored

TIME_OF_DAY = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
AMOUNT = r"^ *([0-9]{1,15}(?:\.[0-9]{1,15})?) *([KMGTPkmgtp]?)([Ii]?)[Bb] *$"
_NOT_AN_AMOUNT = PydanticCustomError("amount", "must be an amount of bytes such as 200 GB or 1.5 TiB, or a number")


def time_of_day(text: str) -> str:
    """A time of day as it was given. Raises ValueError."""
    if not re.fullmatch(TIME_OF_DAY, text):
        raise ValueError("must be a time of day from 00:00 to 23:59, such as 06:00")
    return text


def amount(value: object) -> object:
    """Bytes of an amount in words; anything else is passed on. Raises PydanticCustomError."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(AMOUNT, value)
    if found is None:
        raise _NOT_AN_AMOUNT
    count, prefix, binary = found.groups()
    return int(float(count) * (1024 if binary else 1000) ** " KMGTP".index(prefix.upper() or " "))


Whole = Annotated[int, Field(strict=True, ge=1)]
TimeOfDay = Annotated[str, AfterValidator(time_of_day)]
Amount = Annotated[Whole, BeforeValidator(amount, json_schema_input_type=int | str)]


class Budget(Stored):
    """What one run may spend; the first that is spent counts. It is looked at between two chunks."""

    until: TimeOfDay | None = Field(
        default=None, description='No chunk starts after this time of day in UTC, such as `"06:00"`, in quotes.'
    )
    seconds: Whole | None = Field(
        default=None, description="No chunk starts so many seconds after the run was started or resumed."
    )
    bytes: Amount | None = Field(
        default=None,
        description="No chunk starts once the run has written so much into the target since it was started or resumed, "
        "such as `200 GB`.",
    )

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.until is None and self.seconds is None and self.bytes is None:
            raise ValueError("must have at least one of until, seconds and bytes")
        return self
