"""What is foreseen of a refresh before anything of its inputs is read: by logs, statistics and earlier refreshes."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.text.stored import Stored


class NextMode(StrEnum):
    """How a refresh would be done that starts now."""

    NOTHING = "nothing"
    INCREMENTAL = "incremental"
    FULL = "full"


class Foreseen(Stored):
    """How a refresh will be done that starts now, and why.

    `change_bytes` are to be read for the changes of each input, `change_rows` are about how many rows these are, by
    size. `input_bytes` are all inputs together. Null where that is not known.
    """

    mode: NextMode
    code: ReasonCode
    reason: str
    change_bytes: dict[str, int] = {}
    change_rows: int | None = None
    input_bytes: int | None = None
