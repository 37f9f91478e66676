"""Ctrl-C and SIGTERM: the first asks the command to stop where it stands, the second ends it at once.

The first signal raises Interrupted in the main thread: whoever holds a run interrupts its statement and
releases it. The second needs nobody: a refresh can be resumed from wherever it was cut.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

from airflow_refresh_provider.errors import Interrupted

_SHOW_CURSOR = "\x1b[?25h"


class Interruptions:
    """While entered, signals to stop become Interrupted. `came` says whether, `exit_code` is 128 + the signal."""

    def __init__(self) -> None:
        self.exit_code = Interrupted.exit_code
        self.came = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interruptions:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @property
    def error(self) -> Interrupted:
        """What is raised for the signal that came."""
        return Interrupted(
            "interrupted",
            f"stopped by {signal.Signals(self.exit_code - 128).name}",
            left="Everything committed stays, and the run can be resumed.",
            next="Run the same command again; it goes on from the last commit.",
        )

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        if self.came:
            if sys.stderr.isatty():
                sys.stderr.write(_SHOW_CURSOR)
                sys.stderr.flush()
            os._exit(self.exit_code)
        self.came = True
        raise self.error
