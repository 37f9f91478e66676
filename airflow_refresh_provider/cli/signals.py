"""Ctrl-C and SIGTERM: the first asks the command to stop where it stands, another, later one ends it at once.

The first signal raises Interrupted in the main thread: whoever holds a run interrupts its statement and
releases it. The second needs nobody: a refresh can be resumed from wherever it was cut. So may the first one do
after a while, because an error that comes from nowhere can cut what Python and its libraries do not expect to be
cut, such as the start of a thread or the taking of a lock, and then somebody waits for ever.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NoReturn

from airflow_refresh_provider.errors import Interrupted

PATIENCE = 60.0
"""Seconds that a command has to stop; interrupting a statement and ending its session take less."""

ECHO = 1.0
"""Seconds in which a further signal is the same once more: `timeout` sends one to a process and to its whole group."""

_STDERR = 2
_SHOW_CURSOR = "\x1b[?25h"


def stopped(number: int) -> Interrupted:
    """The error of a command that a signal has stopped."""
    return Interrupted(
        "interrupted",
        f"stopped by {signal.Signals(number).name}",
        left="Everything committed stays, and the run can be resumed.",
        next="Run the same command again; it goes on from the last commit.",
    )


def end(code: int) -> NoReturn:
    """End the process with the exit code of a command that has told its end.

    After a signal nobody is waited for: a thread whose start was cut would never be told to end.
    """
    if code <= 128:
        sys.exit(code)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.flush()
    os._exit(code)


class Interruptions:
    """While entered, signals to stop become Interrupted. `came` says whether, `exit_code` is 128 + the signal.

    `patience`: seconds that what is stopped may take before the process is ended.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._stopping = threading.Event()
        self._over = threading.Event()
        self.exit_code = Interrupted.exit_code
        self.came = False
        self._came_at = 0.0
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interruptions:
        # Begun here, since a signal may come while the main thread is about to begin another one, and holds the lock.
        threading.Thread(target=self._keep_watch, name="patience", daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._over.set()
        self._stopping.set()

    @property
    def error(self) -> Interrupted:
        """What is raised for the signal that came."""
        return stopped(self.exit_code - 128)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self.came and time.monotonic() - self._came_at < ECHO:
            return
        self.exit_code = 128 + number
        if self.came:
            _end_now(self.exit_code)
        self.came, self._came_at = True, time.monotonic()
        self._stopping.set()
        raise self.error

    def _keep_watch(self) -> None:
        """End the process when what was asked to stop does not."""
        self._stopping.wait()
        if not self._over.wait(self._patience):
            late = f"{self.error.message}; what was at work did not end within {self._patience:g} seconds\n"
            _end_now(self.exit_code, late)


def _end_now(code: int, words: str = "") -> NoReturn:
    """End without waiting for anybody, not even for a reader of stderr."""
    if sys.stderr.isatty():
        words += _SHOW_CURSOR
    with suppress(OSError):
        if words and select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, words.encode())
    os._exit(code)
