"""The facts of an exception of Spark, and of what Spark was doing when it was raised. Plain data, no Spark."""

from __future__ import annotations

import re
from datetime import datetime

from airflow_refresh_provider.core.query.facts import ClockSpan
from airflow_refresh_provider.core.text.stored import Stored


class Cause(Stored):
    """One exception of a chain: its Java class, the error class of Spark or Delta, and its whole message."""

    type: str = ""
    error_class: str = ""
    message: str = ""


class Fragment(Stored):
    """A part of a statement that Spark has named: its text, and its first character, counted from 0."""

    text: str
    start: int


class Fault(Stored):
    """An exception. `chain` has its causes, the exception itself first; there is at least one.

    `kind` is the name of pyspark's class, `status` that of the gRPC status of a call that failed, `reading` the input
    that was being opened.
    """

    kind: str
    status: str | None = None
    sql_state: str = ""
    chain: tuple[Cause, ...]
    fragments: tuple[Fragment, ...] = ()
    reading: str | None = None

    @property
    def error_class(self) -> str:
        """The error class that says most: that of the first cause that wraps no other."""
        return self.principal.error_class

    @property
    def principal(self) -> Cause:
        """The first cause with a class that is no wrapper, else the first with a text."""
        own = [cause for cause in self.chain if cause.error_class and cause.error_class not in WRAPPERS]
        plain = [cause for cause in self.chain if cause.error_class not in WRAPPERS and cause.message]
        return (own or plain or self.chain)[0]


class SentQuery(Stored):
    """The query as Spark was given it; as the user wrote it, with the clock functions at `clock_spans`."""

    text: str
    written: str | None = None
    clock_spans: tuple[ClockSpan, ...] = ()
    moment: datetime | None = None


class Doing(Stored):
    """What Spark was doing. `left` says in which state the data is after an error.

    `inputs` are the locations that were read, by name; `target` and `staging` the tables that were read or written.
    `query`: the one that was run, None when none was. `applies_staged`: changes that were staged before were applied.
    """

    left: str
    inputs: dict[str, str] = {}
    target: str | None = None
    staging: tuple[str, ...] = ()
    query: SentQuery | None = None
    applies_staged: bool = False


WRAPPERS = frozenset(
    {
        "TASK_WRITE_FAILED",
        "INTERNAL_ERROR",
        "DELTA_REPLACE_WHERE_MISMATCH",
        "DELTA_REPLACE_ON_OR_USING_TABLE_CONSTRAINT_VIOLATION",
    }
)
"""Error classes that only say where another error was met."""

_CAUSED_BY = re.compile(r"\nCaused by: ")
_FRAME = re.compile(r"^\s*(?:at [\w.$/<>]+\(.*\)|\.\.\. \d+ (?:more|common frames omitted))$|^Driver stacktrace:$")
_STAGE_FAILURE = re.compile(r"^Job aborted due to stage failure: .*?\bexecutor [\w-]+\): ", re.DOTALL)
_TYPED = re.compile(r"^\(?((?:[\w$]+\.)+[\w$]+)\)?(?::\s|\s|$)(.*)$", re.DOTALL)
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ?")


def chain_of(message: str, trace: str, error_class: str = "") -> tuple[Cause, ...]:
    """The causes in a message and in a Java stack trace, which both may have more; equal texts once."""
    first, *nested = _CAUSED_BY.split(message)
    outermost, *causes = _CAUSED_BY.split(trace)
    root = cause_of(first)
    found = [
        root.model_copy(
            update={
                "type": root.type or _without_frames(outermost).partition(":")[0].strip(),
                "error_class": error_class or root.error_class,
            }
        )
    ]
    for text in (*nested, *causes):
        cause = cause_of(text)
        if all(cause.message not in known.message or cause.error_class != known.error_class for known in found):
            found.append(cause)
    return tuple(found)


def cause_of(text: str) -> Cause:
    """One exception from its text: `a.b.SomeException: [CLASS] message` and its stack frames."""
    text = _STAGE_FAILURE.sub("", _without_frames(text))
    typed = _TYPED.match(text)
    java, message = (typed.group(1), typed.group(2)) if typed else ("", text)
    found = _CLASS.match(message)
    return Cause(type=java, error_class=found.group(1) if found else "", message=message.strip())


def _without_frames(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _FRAME.match(line)).strip()
