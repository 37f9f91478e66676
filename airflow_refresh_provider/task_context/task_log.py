"""The watch of a task: lines in its log, and metrics."""

from __future__ import annotations

from typing import Any, Protocol

from structlog.contextvars import bound_contextvars

from airflow_refresh_provider.ports.watch import TAKE_OVER, Committed
from airflow_refresh_provider.signals import metrics
from airflow_refresh_provider.views.lines import Lines


class Log(Protocol):
    """A logger: a task's, or one of the standard library."""

    def info(self, event: str, *args: Any) -> Any: ...


class TaskLog(Lines):
    """Lines in a task's log, and metrics of a definition."""

    def __init__(self, log: Log, definition: str) -> None:
        super().__init__(lambda line: log.info("%s", line))
        self._definition = definition

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        """A stage starts."""
        if name == TAKE_OVER:
            metrics.resumed(self._definition)
        super().stage(name, rows, chunks, part=part)

    def committed(self, chunk: Committed) -> None:
        """A chunk was committed. Its run, unit and number are fields of the line, too, for logs in JSON."""
        metrics.committed(self._definition, self._stage, chunk)
        place = {"refresh_run": chunk.run_id, "unit": chunk.unit, "chunk": chunk.number}
        with bound_contextvars(definition=self._definition, **place):
            super().committed(chunk)
