"""Kinds of inputs, read without Spark: what an input is now, whether it still is, and what has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.ports.table_log import Opened

P = TypeVar("P")


class InputKind(Protocol[P]):
    """One format of inputs, whose pins are a `P`. How the pinned rows are read is said by the pin."""

    def keeping(self, opened: Opened) -> InputKind[P]:
        """Inputs that stay open, as `TableLog.keeping`; the same object where nothing is opened."""
        ...

    def pin(self, name: str, input: Input) -> P:
        """What the input is now. Raises errors.Invalid when it is missing or has another format."""
        ...

    def unreadable(self, pin: P) -> str | None:
        """Why the pinned state cannot be read any more, None when it can."""
        ...

    def rows(self, pin: P) -> int | None:
        """About how many rows it has; None when unknown."""
        ...

    def files(self, pin: P) -> tuple[tuple[str, int], ...] | None:
        """(path, size) of the data files that hold exactly the pinned rows, None when no such list exists."""
        ...

    def columns(self, pin: P) -> dict[str, str]:
        """Its columns and their Spark types; "" for a type that is not known without Spark."""
        ...

    def history(self, applied: P, newest: P) -> InputHistory | None:
        """What happened after one state up to another that follows it; None when that is not known completely."""
        ...

    def changes(
        self, applied: P, newest: P, source: ChangeSource, folder: str, options: Mapping[str, str]
    ) -> ChangedRows:
        """What an engine reads to have the changed rows in between, from a source that the history has named.

        `folder` is for what has to be staged for that; `options` are the reader options of the input.
        """
        ...

    def watch(self, input: Input) -> Callable[[], str]:
        """A function whose result changes when rows of the input may have changed. It raises errors.*"""
        ...


InputKinds = Mapping[str, InputKind[Any]]
"""Format -> kind."""
