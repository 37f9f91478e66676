"""Why a server that has answered before is gone, from what it has left in its log."""

from __future__ import annotations

import re
from pathlib import Path

from airflow_refresh_provider.errors import UNREACHABLE, Retry
from airflow_refresh_provider.spark.server.process import ServerProcess

_FULL = re.compile(r"^Terminating due to java\.lang\.OutOfMemoryError", re.MULTILINE)
_TAIL_BYTES = 200_000
_RESUMES = "a new server starts, and the refresh resumes from its last commit"


def cause(server: ServerProcess, log: Path, left: str) -> Retry:
    """The error of a statement whose server has ended.

    A retry may help even when its heap was full: the other refreshes of the same server have lost it, too.
    """
    if _FULL.search(_tail(log)):
        size, more = (f" ({server.memory})", f" than {server.memory}") if server.memory else ("", "")
        return Retry(
            "out_of_memory",
            f"the embedded Spark server ran out of memory and has ended: its heap{size} was full",
            left=left,
            next=f"Set AIRFLOW_REFRESH_SPARK_MEMORY to more{more}, or refresh fewer tables at the same time, then run "
            f"again: {_RESUMES}. Where a single row takes that much, change the query.",
        )
    return Retry(
        UNREACHABLE,
        f"the embedded Spark server (process {server.pid}) has ended",
        left=left,
        next=f"Run again: {_RESUMES}. If it ends once more, see whether the system has killed it, as for its memory, "
        f"and its log {log}.",
    )


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", errors="replace")
    except OSError:
        return ""
