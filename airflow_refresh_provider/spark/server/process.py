"""The JVM of an embedded server as a process: recorded in a file, found again, ended.

A process id alone identifies no process, since ids are reused: the start time belongs to it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from airflow_refresh_provider.errors import Refused

_CLOCK_STEP = 2.0
"""Start times are counted from the boot, whose own time moves a little when the clock is set."""

_END_SECONDS = 15.0


@dataclass(frozen=True)
class ServerProcess:
    """A started JVM and its port. `ready`: it was seen to answer, and has run a first job."""

    pid: int
    started: float
    port: int
    ready: bool = False

    @classmethod
    def of(cls, pid: int, port: int) -> ServerProcess:
        """The record of a process that was just started. Raises psutil.NoSuchProcess when it is gone already."""
        return cls(pid=pid, started=psutil.Process(pid).create_time(), port=port)

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def is_ready(self) -> ServerProcess:
        """The same, seen to answer and warm."""
        return replace(self, ready=True)

    def alive(self) -> bool:
        """Whether that very process is still there; stopped counts, dead and unburied does not."""
        return self._process() is not None

    def end(self) -> None:
        """Ask it to go, then make it go. Returns when it is gone, and with it every lock that it held.

        Raises Refused when even that does not end it.
        """
        process = self._process()
        if process and not (_ended(process, process.terminate) or _ended(process, process.kill)):
            raise _lasting(self)

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _CLOCK_STEP
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def _ended(process: psutil.Process, urge: Callable[[], None]) -> bool:
    """Whether it is gone some seconds after it was urged to."""
    try:
        urge()
        process.wait(_END_SECONDS)
    except psutil.TimeoutExpired:
        return False
    except psutil.NoSuchProcess:
        pass
    return True


def _lasting(server: ServerProcess) -> Refused:
    return Refused(
        "spark_locked",
        f"the embedded Spark server (process {server.pid}) was killed and does not end",
        left="It still exists, and while it does no other server may write.",
        next="The system holds it, as where a disk does not answer. Fix that or restart the host, then try again.",
    )


_PORT = re.compile(r"spark\.connect\.grpc\.binding\.port=(\d+)")


def search(trait: str) -> ServerProcess | None:
    """A server whose starter died before it was recorded: its command line has the trait, and it leads a session."""
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            port = _PORT.search(line)
            if trait in line and port and os.getsid(process.pid) == process.pid:
                return ServerProcess.of(process.pid, int(port.group(1)))
        except (psutil.Error, ProcessLookupError):
            continue
    return None


def load(path: Path) -> ServerProcess | None:
    """What was recorded last, or None when there is nothing that makes sense."""
    try:
        return ServerProcess(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def save(path: Path, process: ServerProcess) -> None:
    """Record it; readers see the old record or the new one, never a part."""
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(asdict(process)), encoding="utf-8")
    new.replace(path)
