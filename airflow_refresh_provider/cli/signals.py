"""Ctrl-C and SIGTERM: the first signal stops the command, a second one ends the process at once.

The first signal raises Interrupted in the main thread, which interrupts the statement in Spark and releases the run.
Ending the process is always safe, because a refresh can be resumed from its last commit. It is also done if the command
does not stop in time: an exception raised while a thread starts or a lock is acquired can block Python for ever.
"""

from __future__ import annotations

import gc
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
"""Seconds that a command has to stop. Interrupting a statement and ending its session take less."""

ECHO = 1.0
"""Seconds in which a signal is a repetition: `timeout` signals a process and then its whole process group."""

_STDERR = 2
_SHOW_CURSOR = "\x1b[?25h"


def stopped(number: int) -> Interrupted:
    """The error of a command that was stopped by a signal."""
    return Interrupted(
        "interrupted",
        f"stopped by {signal.Signals(number).name}",
        left="Everything committed stays, and the run can be resumed.",
        next="Run the same command again; it resumes from the last commit.",
    )


def end(code: int) -> NoReturn:
    """End the process with the exit code of a command.

    After a signal no thread is joined: one whose start was interrupted would never end.
    """
    if code <= 128:
        # Python looks for garbage once more when it ends, which takes longer than the rest where pandas was imported.
        gc.freeze()
        sys.exit(code)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.flush()
    os._exit(code)


class Interruptions:
    """While entered, SIGINT and SIGTERM raise Interrupted. `came`: there was one; `exit_code` is 128 + the signal.

    `patience`: seconds after which a process that has not stopped is ended.
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
        # Started now: when the signal comes, the main thread may hold the lock for starting threads.
        threading.Thread(target=self._keep_watch, name="patience", daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.came:  # else the process is about to end, and a repetition must not change its exit code
            for number, handler in self._before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
        self._over.set()
        self._stopping.set()

    @property
    def error(self) -> Interrupted:
        """The error for the signal that came."""
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
        """End the process if the command does not stop in time."""
        self._stopping.wait()
        if not self._over.wait(self._patience):
            late = f"{self.error.message}; the command did not end within {self._patience:g} seconds\n"
            _end_now(self.exit_code, late)


def _end_now(code: int, words: str = "") -> NoReturn:
    """End without waiting for anything, not even for a reader of stderr."""
    if sys.stderr.isatty():
        words += _SHOW_CURSOR
    with suppress(OSError):
        if words and select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, words.encode())
    os._exit(code)
