"""The context of one command: where it works, what it reports to, and its debug log."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.places import Places, current_folder, resolve, user_state

if TYPE_CHECKING:
    from airflow_refresh_provider.ports.watch import Watch
    from airflow_refresh_provider.runner.refreshes import Refreshes

_LOG = "debug.log"
_LOG_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_LOG_BYTES = 5_000_000


class Composition(Protocol):
    """Makes the refreshes of a control root, which report to a watch."""

    def __call__(self, places: Places, watch: Watch, /) -> Refreshes: ...


def composed(places: Places, watch: Watch) -> Refreshes:
    """The refreshes with real stores and engines, which are not imported before a command needs them."""
    from airflow_refresh_provider.compose import refreshes

    return refreshes(places, watch)


@dataclass(frozen=True)
class Call:
    """One command as given, without its own options. `environment` has what the options leave out."""

    control: str | None
    spark: str | None
    watch: Watch
    composition: Composition = composed
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def places(self) -> Places:
        """Control root and Spark. Raises Invalid when no control root is given."""
        return resolve(self.environment, current_folder, self.control, self.spark)

    @property
    def debug_log(self) -> Path:
        """The debug log: beside the embedded server's files, if there are any. Creates no control root."""
        with suppress(Invalid):
            home = Path(self.places.spark_home)
            if home.is_dir():
                return home / _LOG
        return Path(user_state(self.environment)) / _LOG

    def open_log(self, *, verbose: bool) -> None:
        """Write all log messages to the debug log, and to stderr too if `verbose`."""
        handlers: list[logging.Handler] = [_LazyFile(self.debug_log)]
        if verbose:
            handlers.append(logging.StreamHandler(sys.stderr))
        logging.basicConfig(level=logging.WARNING, format=_LOG_FORMAT, handlers=handlers, force=True)
        logging.getLogger("airflow_refresh_provider").setLevel(logging.DEBUG)
        logging.captureWarnings(capture=True)

    def refreshes(self) -> Refreshes:
        """The operations on the control tables. Does not connect to Spark."""
        return self.composition(self.places, self.watch)

    def refreshes_of_files(self) -> Refreshes:
        """As `refreshes`, for files of definitions; without a control root, of one in which nothing is registered."""
        try:
            return self.refreshes()
        except Invalid as error:
            if error.code != "no_control":
                raise
            nowhere = str(Path(gettempdir(), f"airflow-refresh-{uuid4()}"))
            return self.composition(resolve(self.environment, current_folder, nowhere, self.spark), self.watch)

    def note_if_none(self, refreshes: Refreshes, found: Sequence[object]) -> None:
        """Where there are no definitions, note the location that was read: it may be misspelt."""
        if not found:
            store = refreshes.ports.store
            none = "no definition is registered" if store.exists else "there are no control tables"
            self.watch.note(f"{none} in {store.root}")


class _LazyFile(RotatingFileHandler):
    """Creates its folder and file with the first record. A log that cannot be written does not fail the command."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)

    def _open(self) -> io.TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Ignored."""
