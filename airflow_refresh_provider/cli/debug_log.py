"""The debug log: whatever a user need not see, kept for whoever looks for a cause.

It is made with its first line. A place that cannot be written costs the log, never the command.
"""

from __future__ import annotations

import io
import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_BYTES = 5_000_000


class _LazyFile(RotatingFileHandler):
    """Makes its folder and file with the first record, and keeps quiet when it cannot."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_BYTES, backupCount=1, encoding="utf-8", delay=True)

    def _open(self) -> io.TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """A log that cannot be written is not worth a word."""


def open_log(path: Path, *, verbose: bool) -> None:
    """Send everything that is logged to the file, and to stderr as well if `verbose`."""
    handlers: list[logging.Handler] = [_LazyFile(path)]
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
    logging.basicConfig(level=logging.WARNING, format=_FORMAT, handlers=handlers, force=True)
    logging.getLogger("airflow_refresh_provider").setLevel(logging.DEBUG)
    logging.captureWarnings(capture=True)
