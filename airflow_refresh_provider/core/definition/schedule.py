"""When a definition is to be refreshed automatically, and how stale its target may become.

An empty schedule means manual. Durations are written as `15 minutes`, `2 h`, `1 day 12 hours` or in ISO 8601; cron
expressions have five fields and mean UTC.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from airflow_refresh_provider.core.text.stored import Stored

_UNITS = {
    "s": timedelta(seconds=1), "sec": timedelta(seconds=1), "second": timedelta(seconds=1),
    "m": timedelta(minutes=1), "min": timedelta(minutes=1), "minute": timedelta(minutes=1),
    "h": timedelta(hours=1), "hour": timedelta(hours=1), "d": timedelta(days=1), "day": timedelta(days=1),
    "w": timedelta(weeks=1), "week": timedelta(weeks=1),
}  # fmt: skip
_PART = r"(\d+(?:\.\d+)?)\s*([a-z]+)"
_WORDS = re.compile(rf"\s*(?:{_PART}\s*)+", re.IGNORECASE)
_NOT_A_DURATION = PydanticCustomError("duration", "must be a duration such as 15 minutes, 2 h or PT15M")


def _parsed_duration(value: object) -> object:
    """A duration in words; anything else is passed on to be parsed as ISO 8601."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or value.strip().lstrip("+-").replace(".", "").isdigit():
        raise _NOT_A_DURATION
    if not _WORDS.fullmatch(value):
        if not value.strip().lstrip("+-").upper().startswith("P"):
            raise _NOT_A_DURATION
        return value
    total = timedelta(0)
    for count, unit in re.findall(_PART, value.lower()):
        found = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if found is None:
            raise _NOT_A_DURATION
        total = _sum(total, float(count), found)
    return total


def _sum(total: timedelta, count: float, unit: timedelta) -> timedelta:
    try:
        return total + count * unit
    except OverflowError:
        raise _NOT_A_DURATION from None


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("must be greater than zero")
    return value


def _cron(text: str) -> str:
    from croniter import CroniterBadDateError, croniter

    random = re.search(r"\b[rR]\b", text)  # another time at each evaluation
    if len(text.split()) != 5 or random or not croniter.is_valid(text):
        raise ValueError("must be a cron expression of five fields, such as 0 6 * * *")
    try:
        croniter(text, datetime.fromisoformat("2024-01-01T00:00:00+00:00")).get_next(datetime)
    except CroniterBadDateError:
        raise ValueError("never occurs: there is no such day") from None
    return text


Duration = Annotated[
    timedelta, BeforeValidator(_parsed_duration, json_schema_input_type=str), AfterValidator(_positive)
]


_ANY_DURATION: TypeAdapter[timedelta] = TypeAdapter(Annotated[timedelta, BeforeValidator(_parsed_duration)])


def duration(value: object) -> timedelta:
    """A duration as definitions write it, a timedelta or a number of seconds; it may be nothing. Raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = timedelta(seconds=value)
    found = _ANY_DURATION.validate_python(value)
    if found < timedelta(0):
        raise ValueError("is negative")
    return found


class Schedule(Stored):
    """When to refresh. At most one of `interval`, `cron` and `on_change` is given; with none of them it is manual."""

    interval: Duration | None = Field(
        default=None, description="Changes are applied within this time after they were made."
    )
    cron: Annotated[str, AfterValidator(_cron)] | None = Field(
        default=None, description="Changes are applied at these times, in UTC."
    )
    on_change: StrictBool = Field(default=False, description="Changes are applied as soon as they are detected.")
    at_most_every: Duration | None = Field(
        default=None, description="With `on_change`: the minimum time between two refreshes."
    )
    target_lag: Duration | None = Field(
        default=None, description="How far the target may be behind its inputs before that counts as late."
    )

    suspend_after: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=5, description="The definition is suspended after this many failed scheduled refreshes in a row."
    )

    @property
    def by_hand(self) -> bool:
        """Whether it is never refreshed automatically."""
        return self.interval is None and self.cron is None and not self.on_change

    @property
    def target_lag_seconds(self) -> float | None:
        """The target lag in seconds."""
        return self.target_lag.total_seconds() if self.target_lag else None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = [name for name in ("interval", "cron", "on_change") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"give only one of {' and '.join(given)}")
        if self.at_most_every and not self.on_change:
            raise ValueError("at_most_every needs on_change: true")
        pause = self.interval or self.at_most_every
        if self.target_lag and pause and self.target_lag < pause:
            raise ValueError("target_lag must not be shorter than the time between two refreshes")
        return self


def from_text(value: Any) -> Any:
    """`manual` stands for a schedule without anything."""
    return {} if value == "manual" else value


def next_tick(cron: str, now: datetime) -> datetime:
    """The next time after `now` that a cron expression names."""
    from croniter import croniter

    found = croniter(cron, now).get_next(datetime)
    assert isinstance(found, datetime)
    return found
