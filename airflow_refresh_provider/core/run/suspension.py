"""Suspension: a definition whose scheduled refreshes keep failing is suspended until it is resumed.

Refreshes by hand do not count, nor errors that go away by themselves; any success resets the count.
"""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import Paused, Refused

_TEMPORARY_ERRORS = frozenset({"input_not_published"})
"""Codes of errors that end with another definition's next refresh."""


def counts(code: str) -> bool:
    """Whether an error that would happen again counts as a failure."""
    return code not in _TEMPORARY_ERRORS


def after_failure(record: Record, reason: str) -> dict[str, Any]:
    """The fields of a record that change when one more scheduled refresh has failed."""
    failures, allowed = record.failures + 1, record.definition.refresh.suspend_after
    if failures < allowed or record.suspended:
        return {"failures": failures}
    first_line = reason.splitlines()[0] if reason else "no reason was given"
    times = f"{failures} scheduled refreshes in a row have" if failures > 1 else "a scheduled refresh has"
    return {"failures": failures, "suspended": f"{times} failed, the last because {first_line}"}


def check_not_suspended(record: Record) -> None:
    """Raises Refused."""
    if record.suspended:
        raise Refused(
            "suspended",
            f"{record.name} is suspended: {record.suspended}",
            next=f"Fix the cause, then `airflow-refresh resume {record.name}`.",
        )


def check_not_paused(record: Record) -> None:
    """Raises Paused."""
    if record.paused:
        raise Paused(
            "paused",
            f"{record.name} is paused",
            left="A run in progress keeps all chunks that it has committed.",
            next=f"`airflow-refresh resume {record.name}`, then run again; Airflow tasks continue by themselves.",
        )
