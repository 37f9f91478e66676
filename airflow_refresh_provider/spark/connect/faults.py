"""Spark's exceptions as facts, for `core.faults`. Their full text goes to the debug log only.

The same error is a typed exception in a classic session, mostly a generic one through Connect, and a gRPC error when
the server is gone. Through Connect, the causes are lines `Caused by: ...` of the stack trace that pyspark makes from
the server's FetchErrorDetails, which has up to five of them; in a classic session they are in Java's own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import QueryContextType

from airflow_refresh_provider.core.faults.answers import explained
from airflow_refresh_provider.core.faults.fault import Doing, Fault, Fragment, chain_of
from airflow_refresh_provider.core.faults.kinds import FaultKind, kind_of
from airflow_refresh_provider.errors import RefreshError

__all__ = ["FACTS", "SPARK_ERRORS", "FaultKind", "answer", "fault_of", "kind_of", "reading", "translated"]

SPARK_ERRORS = (PySparkException, grpc.RpcError, Py4JError)
"""Everything that a statement or a session may raise. A Py4J network error is a Py4JError, too."""

FACTS = "facts of the error: %s; of what was done: %s"
"""The line in the debug log."""
_READING = "reading the input "
_log = logging.getLogger(__name__)


def fault_of(error: Exception) -> Fault:
    """The facts of one of SPARK_ERRORS. Writes its full text to the debug log."""
    text, trace = _texts(error)
    _log.debug("Spark raised %s: %s\n%s", type(error).__name__, text, trace)
    error_class, sql_state = _classified(error)
    status = _status(error)
    return Fault(
        kind=type(error).__name__,
        status=status.name if status else None,
        sql_state=sql_state,
        chain=chain_of(text, trace, error_class),
        fragments=tuple(_fragments(error)),
        reading=next((n.removeprefix(_READING) for n in _notes(error) if n.startswith(_READING)), None),
    )


def answer(error: Exception, doing: Doing) -> RefreshError:
    """The error for a user. Writes the facts that decide to the debug log, as JSON."""
    fault = fault_of(error)
    _log.debug(FACTS, fault.model_dump_json(), doing.model_dump_json())
    return explained(fault, doing)


@contextmanager
def translated(doing: Doing) -> Iterator[None]:
    """Translate Spark's errors into those of this package."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise answer(error, doing) from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Inside, an input is opened: an error of Spark is about this one."""
    try:
        yield
    except SPARK_ERRORS as error:
        error.add_note(f"{_READING}{name}")
        raise


def _notes(error: Exception) -> list[str]:
    return list(getattr(error, "__notes__", ()))


def _texts(error: Exception) -> tuple[str, str]:
    """The message, and the Java stack trace if there is one."""
    if isinstance(error, Py4JJavaError):
        message, _, trace = str(error.args[0] if error.args else error).partition("\n\tat ")
        java = getattr(error, "java_exception", None)
        return (str(java.toString()), str(error)) if java is not None else (message, trace)
    if isinstance(error, grpc.RpcError):
        details = getattr(error, "details", None)
        return str((details() if callable(details) else None) or error), ""
    message, _, trace = str(error).partition("\n\nJVM stacktrace:\n")
    get_trace = getattr(error, "getStackTrace", None)
    # An exception of a classic session has its trace in this attribute only; its text has it where a conf says so.
    return message, (get_trace() if get_trace else getattr(error, "_stackTrace", None)) or trace


def _classified(error: Exception) -> tuple[str, str]:
    if not isinstance(error, PySparkException):
        return "", ""
    return error.getCondition() or "", error.getSqlState() or ""


def _fragments(error: Exception) -> Iterator[Fragment]:
    """The parts of a statement that the error names; calls of Python that it names are not the user's."""
    if not isinstance(error, PySparkException):
        return
    for context in error.getQueryContext():
        if context.contextType() is QueryContextType.SQL:
            yield Fragment(text=context.fragment(), start=context.startIndex())


def _status(error: Exception) -> grpc.StatusCode | None:
    ask = getattr(error, "getGrpcStatusCode", None) or getattr(error, "code", None)
    status = ask() if callable(ask) else None
    return status if isinstance(status, grpc.StatusCode) else None
