"""Answers to errors in the query and in its values."""

from __future__ import annotations

from airflow_refresh_provider.core.faults.blame import Place
from airflow_refresh_provider.core.faults.case import Case
from airflow_refresh_provider.core.faults.of_tables import refused_target, unreadable
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError

TARGET_CHANGED = "target_changed"
"""Spark refuses the statement that applies staged changes, so it has ended."""
_NO_FILE_METADATA = (
    "Leave `_metadata` out of the query: the file of a row is another one once files were rewritten. Where it has to "
    "be known, store it in a column of the input."
)
_OF_TARGET = "DELTA_"
"""Error classes of Delta: while a query is computed for a target, they are about the target, not the SQL."""


def refused(case: Case) -> RefreshError:
    """Spark refuses a statement when it analyzes it."""
    if case.fault.reading:
        return unreadable(case)
    if case.doing.applies_staged:
        return _other_columns(case)
    if case.doing.query is None or (case.doing.target and case.fault.error_class.startswith(_OF_TARGET)):
        return refused_target(case)
    message = f"Spark refuses the query: {case.reason_and_position}"
    next_ = _NO_FILE_METADATA if "`_metadata`." in case.reason else "Correct the query."
    return Invalid("query_invalid", message, left=case.left, next=next_)


def bad_value(case: Case) -> RefreshError:
    """A value that cannot be computed. Without a query it is one that a property of the target cannot have."""
    if case.doing.query is None and not case.doing.applies_staged:
        return refused_target(case)
    if case.blamed.place is Place.INPUT and case.fault.chain[0].error_class.startswith("FAILED_READ_FILE"):
        return unreadable(case)
    wider = ", or give the target's column a wider type" if "OVERFLOW" in case.fault.error_class else ""
    return Failed(
        "bad_value",
        f"a row cannot be computed: {case.reason_and_position}",
        left=case.left,
        next=f"Correct the data, or let the query tolerate it (try_cast, try_divide){wider}, then run again.",
    ).showing(*case.values)


def _other_columns(case: Case) -> RefreshError:
    return Failed(
        TARGET_CHANGED,
        f"the columns of {case.target} have changed since its changes were staged: {case.reason}",
        left=case.left,
        next="Run again: this run is abandoned, and a new one compares everything.",
    )
