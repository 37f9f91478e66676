"""What is foreseen of a refresh: by logs, statistics, earlier refreshes, and the values that its changes touch."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.text.stored import Stored


class NextMode(StrEnum):
    """How a refresh would be done that starts now."""

    NOTHING = "nothing"
    INCREMENTAL = "incremental"
    FULL = "full"


class Estimates(Stored):
    """How long a refresh is foreseen to take either way, in seconds in which its processes work.

    Null where no refresh of the definition says anything about it, or where its changes are not followed.
    """

    incremental_seconds: float | None = None
    full_seconds: float | None = None

    @property
    def text(self) -> str | None:
        """Both, for people; None where neither is known."""
        known = {"incremental": self.incremental_seconds, "full": self.full_seconds}
        return ", ".join(f"{way} {seconds:g} s" for way, seconds in known.items() if seconds is not None) or None

    def after(self, text: str) -> str:
        """A text, and after it what is foreseen, if anything is."""
        return f"{text}; foreseen: {self.text}" if self.text else text


class Foreseen(Estimates):
    """How a refresh will be done that starts now, and why, before anything of its inputs is read.

    `change_bytes` are to be read for the changes of each input, `change_rows` are about how many rows these are, by
    the logs of the inputs, else by size. `input_bytes` are all inputs together. Null where that is not known.
    """

    mode: NextMode
    code: ReasonCode
    reason: str
    change_bytes: dict[str, int] = {}
    change_rows: int | None = None
    input_bytes: int | None = None

    @property
    def estimates(self) -> Estimates:
        """How long it is foreseen to take, alone."""
        return Estimates(incremental_seconds=self.incremental_seconds, full_seconds=self.full_seconds)
