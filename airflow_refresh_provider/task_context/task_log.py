"""The watch of a task: lines in its log, and metrics."""

from __future__ import annotations

from typing import Any, Protocol

from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.task_context import metrics
from airflow_refresh_provider.views.lines import Lines


class Log(Protocol):
    """A logger: a task's, or one of the standard library."""

    def info(self, event: str, *args: Any) -> Any: ...


class TaskLog(Lines):
    """Lines in a task's log, and metrics of a definition."""

    def __init__(self, log: Log, definition: str) -> None:
        super().__init__(lambda line: log.info("%s", line))
        self._definition = definition

    def committed(self, chunk: Committed) -> None:
        """A chunk was committed."""
        metrics.committed(self._definition, self._stage, chunk.rows)
        super().committed(chunk)
