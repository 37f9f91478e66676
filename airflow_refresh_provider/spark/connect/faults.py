"""Spark's exceptions as facts: kind, error class, first line, position. The full text goes to the log only.

The same error is a typed exception in a classic session, mostly a generic one through Connect, and a gRPC error when
the server is gone. The error class is the most reliable part; texts are searched only where there is none, or where the
class is that of a wrapper.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import grpc
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkAssertionError, PySparkException

from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.spark.connect import fault_errors
from airflow_refresh_provider.spark.connect.fault_errors import FaultKind

__all__ = ["SPARK_ERRORS", "FaultKind", "SparkFault", "as_refresh_error", "fault_of", "translated"]

SPARK_ERRORS = (PySparkException, grpc.RpcError, Py4JError)
"""Everything that a statement or a session may raise. A Py4J network error is a Py4JError, too."""

Position = tuple[int, int]
"""Line and column, from 1."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SparkFault:
    """An error in Spark. `position` is one in the statement that was sent."""

    kind: FaultKind
    error_class: str
    sql_state: str
    first_line: str
    position: Position | None


def fault_of(error: Exception) -> SparkFault:
    """The facts of one of SPARK_ERRORS. Writes its full text to the debug log."""
    text, trace = _texts(error)
    _log.debug("Spark raised %s: %s\n%s", type(error).__name__, text, trace)
    error_class, sql_state = _classified(error)
    line = _first_line(text)
    if error_class in _WRAPPERS and (cause := _innermost_cause(trace)):
        error_class, sql_state, line = cause[0], "", cause[1]
    error_class = error_class or _class_in(text)
    return SparkFault(
        kind=_kind(error, error_class, sql_state, text + trace),
        error_class=error_class,
        sql_state=sql_state,
        first_line=line,
        position=_position(text),
    )


def as_refresh_error(fault: SparkFault, *, left: str) -> RefreshError:
    """The error for a user; `left` says in which state the data is."""
    where = f" (line {fault.position[0]}, column {fault.position[1]})" if fault.position else ""
    return fault_errors.of(fault.kind, f"{fault.first_line}{where}", left)


@contextmanager
def translated(*, left: str, written: Callable[[Position], Position] = lambda place: place) -> Iterator[None]:
    """Translate Spark's errors into those of this package.

    `written` maps a position in the statement that was sent to one in the query that the user wrote.
    """
    try:
        yield
    except SPARK_ERRORS as error:
        fault = fault_of(error)
        place = written(fault.position) if fault.position else None
        raise as_refresh_error(replace(fault, position=place), left=left) from None


_WRAPPERS = frozenset({"", "TASK_WRITE_FAILED", "INTERNAL_ERROR"})
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ?")
_CAUSED_BY = re.compile(r"^Caused by: [\w.$]+: \[([A-Z][A-Z0-9_.]*)\] (.*)$", re.MULTILINE)


def _texts(error: Exception) -> tuple[str, str]:
    """The message, and the Java stack trace if there is one."""
    if isinstance(error, Py4JJavaError):
        message, _, trace = str(error.args[0] if error.args else error).partition("\n\tat ")
        java = getattr(error, "java_exception", None)
        return (str(java.toString()), str(error)) if java is not None else (message, trace)
    message, _, trace = str(error).partition("\n\nJVM stacktrace:\n")
    get_trace = getattr(error, "getStackTrace", None)
    return message, (get_trace() if get_trace else None) or trace


def _classified(error: Exception) -> tuple[str, str]:
    if not isinstance(error, PySparkException):
        return "", ""
    return error.getCondition() or "", error.getSqlState() or ""


def _class_in(text: str) -> str:
    found = _CLASS.search(text)
    return found.group(1) if found else ""


def _innermost_cause(trace: str) -> tuple[str, str] | None:
    causes = _CAUSED_BY.findall(trace)
    return (causes[-1][0], _clean(causes[-1][1])) if causes else None


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return _clean(lines[0]) if lines else "it gave no reason"


_LEADING = re.compile(r"^(?:\([\w.$]+\) |(?:[\w$]+\.)+[\w$]+: )*(?:\[[A-Z][A-Z0-9_.]*\] ?)?")
_TRAILING = re.compile(r"\s*SQLSTATE: \w{5}.*$|\s*;? \(?line \d+,? pos(?:ition)? \d+\)?;?\s*$")


def _clean(line: str) -> str:
    """The sentence without exception class, error class, SQL state and position."""
    return _TRAILING.sub("", _LEADING.sub("", line)).strip() or line.strip()


_FROM_ZERO = re.compile(r"line (\d+),? pos (\d+)")
_FROM_ONE = re.compile(r"line (\d+), position (\d+)")


def _position(text: str) -> Position | None:
    if found := _FROM_ONE.search(text):
        return int(found.group(1)), int(found.group(2))
    if found := _FROM_ZERO.search(text):
        return int(found.group(1)), int(found.group(2)) + 1
    return None


_BY_CLASS = (
    # The illegal state: a session was released while one of its statements could not be interrupted any more.
    (
        FaultKind.SESSION_GONE,
        ("INVALID_HANDLE", "NO_ACTIVE_SESSION", "RESPONSE_ALREADY_RECEIVED", "SPARK_CONNECT_ILLEGAL_STATE"),
    ),
    (FaultKind.CANCELLED, ("OPERATION_CANCELED", "SPARK_JOB_CANCELLED")),
    (FaultKind.CONCURRENCY, ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")),
    (
        FaultKind.MISSING,
        (
            "PATH_NOT_FOUND",
            "FAILED_READ_FILE.FILE_NOT_EXIST",
            "DELTA_TABLE_NOT_FOUND",
            "DELTA_PATH_DOES_NOT_EXIST",
            "DELTA_VERSION_NOT_FOUND",
            "DELTA_MISSING_",
            "DELTA_FILE_NOT_FOUND",
            "DELTA_LOG_FILE_NOT_FOUND",
            "DELTA_TRUNCATED_TRANSACTION_LOG",
        ),
    ),
    (
        FaultKind.UNREADABLE,
        (
            "FAILED_READ_FILE",
            "UNABLE_TO_INFER_SCHEMA",
            "MALFORMED_RECORD_IN_PARSING",
            "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY",
        ),
    ),
    (FaultKind.PARSE, ("PARSE_", "INVALID_SQL_SYNTAX")),
    (FaultKind.BAD_VALUE, ("USER_RAISED_EXCEPTION", "CAST_", "DIVIDE_BY_ZERO", "ARITHMETIC_OVERFLOW")),
)
_UNREACHABLE = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})
_OUT_OF_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_NO_FILE = re.compile(r"java\.io\.FileNotFoundException|java\.nio\.file\.NoSuchFileException")
_BAD_VALUE_STATES = ("21", "22", "23")
"""SQL states of a cardinality, a value or a constraint: errors in rows, not in the statement."""


def _kind(error: Exception, error_class: str, sql_state: str, everything: str) -> FaultKind:
    if _OUT_OF_DISK.search(everything):
        return FaultKind.OUT_OF_DISK
    for kind, prefixes in _BY_CLASS:
        if error_class.startswith(prefixes):
            return kind
    if (kind_of_call := _kind_of_call(error)) is not None:
        return kind_of_call
    if not error_class and _NO_FILE.search(everything):
        return FaultKind.MISSING
    if not error_class and _status(error) == grpc.StatusCode.UNKNOWN:
        # Spark Connect sends no message for errors that are fatal in Java.
        return FaultKind.NO_MESSAGE
    if isinstance(error, ParseException):
        return FaultKind.PARSE
    if sql_state.startswith(_BAD_VALUE_STATES):
        return FaultKind.BAD_VALUE
    return FaultKind.ANALYSIS if isinstance(error, AnalysisException) else FaultKind.OTHER


def _kind_of_call(error: Exception) -> FaultKind | None:
    """The kind when the call failed, and not the statement."""
    status = _status(error)
    if status in _UNREACHABLE:
        return FaultKind.UNREACHABLE
    if status == grpc.StatusCode.CANCELLED:
        return FaultKind.CANCELLED
    if isinstance(error, PySparkAssertionError):
        # The answer is of another session than the one called: the server was restarted.
        return FaultKind.SESSION_GONE
    if isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
        return FaultKind.UNREACHABLE
    return None


def _status(error: Exception) -> grpc.StatusCode | None:
    ask = getattr(error, "getGrpcStatusCode", None) or getattr(error, "code", None)
    status = ask() if callable(ask) else None
    return status if isinstance(status, grpc.StatusCode) else None
