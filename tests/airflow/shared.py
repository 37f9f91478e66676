"""A lake in memory that all tasks of a DAG run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.watch import Silent, Watch
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.world import World, definition, row

CHUNKED: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
"""Several chunks, so that a refresh is sealed by its end and not by its only chunk."""
BY_VNODE: dict[str, Any] = {"layout": "vnode", "vnodes": 4} | CHUNKED
"""Four units to be merged side by side."""


class Shared:
    """One lake for all tasks of a test; each task is a process of its own to the runner."""

    def __init__(self, **options: Any) -> None:
        self.world = World(*[row(i) for i in range(9)], **options)
        self.definition = definition(**options).model_dump(mode="json", exclude_unset=True)
        self.ports: list[Ports] = []
        self.passed = 0.0
        """Seconds that have passed when a process starts."""
        self.look: Callable[[], None] = lambda: None
        """Called whenever the state is read outside of a task, as triggers do; by default it does nothing."""

    def refreshes(
        self,
        places: Places,
        watch: Watch | None = None,
        label: str | None = None,
        origin_status: Callable[[str], OriginStatus] | None = None,
    ) -> Refreshes:
        if label is None:
            self.look()
        for earlier in self.ports:
            self.world.die(earlier)
        self.ports.append(replace(self.world.process(), watch=watch or Silent()))
        self.ports[-1].clock.sleep(self.passed)
        if origin_status is not None:
            vars(self.ports[-1].processes)["origin_status"] = origin_status
        return Refreshes(self.ports[-1])
