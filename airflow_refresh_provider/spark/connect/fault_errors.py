"""The kinds of errors in Spark, and for each the error that a user gets."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import assert_never

from airflow_refresh_provider.errors import Conflict, Failed, Invalid, RefreshError, Retry


class FaultKind(StrEnum):
    """The kinds of errors in Spark that users and callers have to distinguish."""

    PARSE = "parse"
    ANALYSIS = "analysis"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    BAD_VALUE = "bad_value"
    CONCURRENCY = "concurrency"
    UNREACHABLE = "unreachable"
    SESSION_GONE = "session_gone"
    CANCELLED = "cancelled"
    OUT_OF_DISK = "out_of_disk"
    NO_MESSAGE = "no_message"
    OTHER = "other"


_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'")
"""A value of a row in a message of Spark."""

_RESUME = "Run again; the refresh resumes from its last commit."


def of(kind: FaultKind, reason: str, left: str) -> RefreshError:
    """The error of a kind. `reason` is Spark's own first line."""
    match kind:
        case FaultKind.PARSE | FaultKind.ANALYSIS:
            return Invalid("query_invalid", f"Spark refuses the query: {reason}", left=left, next="Correct the query.")
        case FaultKind.MISSING | FaultKind.UNREADABLE | FaultKind.BAD_VALUE:
            return _of_data(kind, reason, left)
        case FaultKind.CONCURRENCY:
            return Conflict(
                "concurrent_commit", f"another writer's commit came first: {reason}", left=left, next=_RESUME
            )
        case FaultKind.UNREACHABLE:
            return Retry("spark_unreachable", "Spark does not answer any more", left=left, next=_RESUME)
        case FaultKind.SESSION_GONE:
            return Retry("session_lost", "the Spark session was ended by another process", left=left, next=_RESUME)
        case FaultKind.CANCELLED:
            return Retry("statement_cancelled", "the statement was cancelled in Spark", left=left, next=_RESUME)
        case FaultKind.OUT_OF_DISK:
            return Failed(
                "disk_full",
                f"Spark ran out of disk space: {reason}",
                left=left,
                next="Free disk space, then run again; the refresh resumes from its last commit.",
            )
        case FaultKind.NO_MESSAGE:
            return Retry(
                "spark_no_message",
                "a call to Spark ended with an error that has no message",
                left=left,
                next=f"{_RESUME} If it fails again, restart Spark (the embedded one: `airflow-refresh spark stop`).",
            )
        case FaultKind.OTHER:
            return Failed(
                "spark_failed",
                f"Spark failed: {reason}",
                left=left,
                next="The debug log has Spark's full message. Fix the cause, then run again.",
            )
        case _:
            assert_never(kind)


def _of_data(kind: FaultKind, reason: str, left: str) -> RefreshError:
    match kind:
        case FaultKind.MISSING:
            return Failed(
                "input_missing",
                f"an input of the query is missing: {reason}",
                left=left,
                next="Restore it or correct its location, then run again.",
            )
        case FaultKind.UNREADABLE:
            return Failed(
                "input_unreadable",
                f"an input of the query is damaged or has another format than declared: {reason}",
                left=left,
                next="Restore the file or correct the format, then run again.",
            )
        case _:
            return Failed(
                "bad_value",
                f"a row cannot be computed: {reason}",
                left=left,
                next="Correct the data, or let the query tolerate it (try_cast, try_divide), then run again.",
            ).showing(*_LITERAL.findall(reason))
