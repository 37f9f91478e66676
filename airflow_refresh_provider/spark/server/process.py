"""The process of an embedded server and its lock, as the operating system has them.

A server is recorded in a file by process id and start time, since ids are reused.

A lock belongs to a file descriptor, and the operating system releases it with the last copy of that descriptor. It
needs no cleanup after a crash: it is free exactly when every process that has the descriptor has ended or closed it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from airflow_refresh_provider.errors import Refused

_CLOCK_STEP = 2.0
"""Start times are relative to the boot time, which changes a little when the clock is set."""

_END_SECONDS = 15.0
_LOOK_EVERY = 0.1


@dataclass(frozen=True)
class ServerProcess:
    """A started JVM and its port. `ready`: it has answered and has run a first job. `memory`: its heap, if known."""

    pid: int
    started: float
    port: int
    ready: bool = False
    memory: str = ""

    @classmethod
    def of(cls, pid: int, port: int, memory: str) -> ServerProcess:
        """The record of a process that was just started. Raises psutil.NoSuchProcess when it has ended already."""
        return cls(pid=pid, started=psutil.Process(pid).create_time(), port=port, memory=memory)

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def is_ready(self) -> ServerProcess:
        """The same, marked as ready."""
        return replace(self, ready=True)

    def alive(self) -> bool:
        """Whether this process still exists, running or stopped; a zombie does not count."""
        return self._process() is not None

    def end(self) -> None:
        """Terminate it, then kill it. Returns when it has ended and its locks are released.

        Raises Refused when it does not end even then.
        """
        process = self._process()
        if process and not (_ended(process, process.terminate) or _ended(process, process.kill)):
            raise _does_not_end(self)

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _CLOCK_STEP
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def _ended(process: psutil.Process, send: Callable[[], None]) -> bool:
    """Whether it ends within some seconds after the signal."""
    try:
        send()
        process.wait(_END_SECONDS)
    except psutil.TimeoutExpired:
        return False
    except psutil.NoSuchProcess:
        pass
    return True


def _does_not_end(server: ServerProcess) -> Refused:
    return Refused(
        "spark_locked",
        f"the embedded Spark server (process {server.pid}) was killed and does not end",
        left="It still exists, and while it does no other server may write.",
        next="It is in uninterruptible sleep, as on a disk that hangs. Fix that or restart the host, then run again.",
    )


_PORT = re.compile(r"spark\.connect\.grpc\.binding\.port=(\d+)")
_MEMORY = re.compile(r"-Xmx(\w+)")


def search(trait: str) -> ServerProcess | None:
    """A server that was never recorded, as its starter died: it leads a session and has `trait` in its command line."""
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            port = _PORT.search(line)
            if trait in line and port and os.getsid(process.pid) == process.pid:
                memory = _MEMORY.search(line)
                return ServerProcess.of(process.pid, int(port.group(1)), memory.group(1) if memory else "")
        except (psutil.Error, ProcessLookupError):
            continue
    return None


def load(path: Path) -> ServerProcess | None:
    """The last record, None when there is none or it is not valid."""
    try:
        return ServerProcess(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def save(path: Path, process: ServerProcess) -> None:
    """Record it; readers see the old record or the new one, never a part."""
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(asdict(process)), encoding="utf-8")
    new.replace(path)


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """The descriptor that holds the lock, or None while another process holds it. Closing it releases the lock.

    Any number of processes can hold it `shared` at once; then no process can hold it exclusively.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with ExitStack() as on_failure:
        on_failure.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        on_failure.pop_all()
    return descriptor


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock inside the block. Raises TimeoutError when it is not released in time."""
    end = time.monotonic() + seconds
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{path} is held by another process")
        time.sleep(_LOOK_EVERY)
    try:
        yield
    finally:
        os.close(descriptor)
