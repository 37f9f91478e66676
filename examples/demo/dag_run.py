"""A DAG run as the demo watches it: one line for each change of a task; every wait has a limit."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from examples.demo.screen import say
from examples.rest import Rest, TaskSeen

# Minutes on a machine that has nothing else to do.
_LIMIT_SECONDS = 1200
_LOOK_EVERY = 0.3
_COLOURS = {"success": "green", "up_for_retry": "red", "failed": "red"}
_WORTH_A_LINE = {"running", "skipped", "upstream_failed", *_COLOURS}


class DagRun:
    """A DAG run, triggered on construction."""

    def __init__(self, rest: Rest, dag_id: str) -> None:
        self._rest = rest
        self._dag_id = dag_id
        self._run_id = rest.trigger(dag_id)
        self._shown: dict[tuple[str, int], tuple[str, int]] = {}

    def await_success(self) -> None:
        """Return when the run has succeeded. Ends the demo when it fails."""
        for _ in self.looks():
            state = self._rest.state(self._dag_id, self._run_id)
            if state == "success":
                self.tasks()
                return
            if state == "failed":
                sys.exit(f"demo: the run {self._run_id} of {self._dag_id} failed; its logs are in .demo/airflow/logs")

    def looks(self) -> Iterator[list[TaskSeen]]:
        """The task instances, polled. Ends the demo after a limit."""
        limit = time.monotonic() + _LIMIT_SECONDS
        while time.monotonic() < limit:
            yield self.tasks()
            time.sleep(_LOOK_EVERY)
        sys.exit(f"demo: the run {self._run_id} of {self._dag_id} took more than {_LIMIT_SECONDS} s")

    def tasks(self) -> list[TaskSeen]:
        """The task instances; new states are printed."""
        found = self._rest.tasks(self._dag_id, self._run_id)
        for task in found:
            key, now = (task.task_id, task.map_index), (task.state, task.tries)
            if task.state in _WORTH_A_LINE and self._shown.get(key) != now:
                self._shown[key] = now
                again = f", try {task.tries}" if task.tries > 1 else ""
                colour = _COLOURS.get(task.state, "default")
                say(f"  {task.name:14} [{colour}]{task.state}[/{colour}]{again}")
        return found

    def returned(self, task_id: str, map_index: int = -1) -> Any:
        """What a task returned."""
        return self._rest.returned(self._dag_id, self._run_id, task_id, map_index)
