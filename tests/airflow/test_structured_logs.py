"""Lines about chunks, as a log in JSON has them."""

from __future__ import annotations

import json
import logging
from typing import Any

import structlog
from airflow.sdk.log import logging_processors

from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.task_context.task_log import TaskLog


class Written:
    """A log whose lines go through Airflow's processors."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._logger = structlog.wrap_logger(
            structlog.ReturnLogger(),
            processors=logging_processors(json_output=True),
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        )

    def info(self, event: str, *args: Any) -> None:
        self.lines.append(json.loads(self._logger.info(event, *args)))


def test_run_unit_and_chunk_are_fields_of_the_line() -> None:
    written = Written()
    log = TaskLog(written, "orders")
    log.committed(Committed("a-run", 3, 2, 5, "append", 9, 0.5))
    log.note("then")
    chunk, after = written.lines
    assert (chunk["definition"], chunk["refresh_run"], chunk["unit"], chunk["chunk"]) == ("orders", "a-run", 3, 2)
    assert chunk["event"].startswith("run a-run, unit 3: chunk 2 of 5 by append")
    assert "unit" not in after
