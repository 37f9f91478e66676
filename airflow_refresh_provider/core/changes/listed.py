"""What follows from the pins of any input that is a list of files, whatever their format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from airflow_refresh_provider.core.changes.history import InputHistory, of_files
from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource


class FilesOfPin:
    """The part of a kind of inputs that needs its pins only."""

    def keeping(self, opened: object) -> Self:
        """The same: nothing is opened that could be kept."""
        return self

    def files(self, pin: FilesPin) -> tuple[tuple[str, int], ...]:
        """(path, size) of the pinned files."""
        return tuple((f.path, f.size) for f in pin.files)

    def columns(self, pin: FilesPin) -> dict[str, str]:
        """None are known, unless a format says otherwise: only row-wise queries can be incremental then."""
        return {}

    def history(self, applied: FilesPin, newest: FilesPin) -> InputHistory | None:
        """The new files; None when any other was changed or deleted."""
        return of_files(applied, newest)

    def changes(
        self, applied: FilesPin, newest: FilesPin, source: ChangeSource, folder: str, options: Mapping[str, str]
    ) -> ChangedRows:
        """The rows of the new files."""
        return newest.rows_since(applied, options)
