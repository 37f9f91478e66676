"""Why a server ended during its start, from its log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from airflow_refresh_provider.errors import Failed, RefreshError, Retry

PORT_TAKEN = "spark_port"
_LEFT = "No server was started; nothing was changed."
_TAIL_BYTES = 200_000


@dataclass(frozen=True)
class _Cause:
    code: str
    kind: type[RefreshError]
    sign: re.Pattern[str]
    message: str
    next: str


_CAUSES = (
    _Cause(
        PORT_TAKEN,
        Retry,
        re.compile(r"BindException|Address already in use"),
        "each port that was free was taken by another program before the server could bind it",
        "Run again: other ports are chosen each time.",
    ),
    _Cause(
        "spark_memory",
        Failed,
        re.compile(
            r"OutOfMemoryError|Could not reserve enough space|insufficient memory|Invalid maximum heap size"
            r"|Too small maximum heap|Initial heap size set to a larger|System memory \d+ must be at least"
        ),
        "its heap does not fit",
        "Set AIRFLOW_REFRESH_SPARK_MEMORY to what the machine can give, 1g or more, and run again.",
    ),
    _Cause(
        "disk_full",
        Failed,
        re.compile(r"No space left on device|Disk quota exceeded"),
        "there is no space left on its disk",
        "Free disk space, then run again.",
    ),
)

_PREFIX = re.compile(r'^(?:[\d\-/]+ [\d:]+ (?:ERROR|FATAL) \S+ |Exception in thread "[^"]*" |Error: )')


def failure(log: Path) -> RefreshError:
    """The error for a server that ended before it answered."""
    text = _tail(log)
    for cause in _CAUSES:
        if cause.sign.search(text):
            return cause.kind(
                cause.code, f"the embedded Spark server did not start: {cause.message}", left=_LEFT, next=cause.next
            )
    return Failed(
        "spark_start",
        f"the embedded Spark server did not start: {_first_complaint(text)}",
        left=_LEFT,
        next=f"Fix the cause, then run again. The server's log is {log}.",
    )


def _first_complaint(text: str) -> str:
    """The first line that says what went wrong, without thread, time and exception class."""
    for line in text.splitlines():
        complaint, found = _PREFIX.subn("", line)
        if found:
            return re.sub(r"^(?:[\w$]+\.)+[\w$]+(?:Exception|Error): ", "", complaint).strip()
    return "its log has no error"


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", errors="replace")
    except OSError:
        return ""
