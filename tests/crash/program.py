"""The program `airflow-refresh` as it is, but for wrappers around four of its ports.

Calls of the control store, of staging and of what rewrites small tables stop at the points that a test has named in a
folder. Owners named by process id count as gone, so that a process that was only stopped can be taken over without
waiting for its lease.

    python -m tests.crash.program FOLDER PIDS WORDS...      PIDS: numbers joined by commas, or -
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from airflow_refresh_provider import compose
from airflow_refresh_provider.cli.main import main
from airflow_refresh_provider.cli.signals import end
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import OriginStatus, Owner
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.watch import Watch
from airflow_refresh_provider.ports.world import Processes
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.crash.holds import Point, armed


class Stopping:
    """A port whose calls stop before and after, where a hold says so."""

    def __init__(self, name: str, port: Any, folder: Path) -> None:
        self._name = name
        self._port = port
        self._folder = folder

    def __getattr__(self, called: str) -> Any:
        found = getattr(self._port, called)
        return partial(self._call, called, found) if callable(found) else found

    def _call(self, called: str, method: Callable[..., Any], *given: Any) -> Any:
        place = next((g for g in given if isinstance(g, str)), "")
        content = next((g.value for g in given if isinstance(g, Event)), "")
        self._at(Point(f"before_{self._name}.{called}", place, content))
        answer = method(*given)
        self._at(Point(f"after_{self._name}.{called}", place, content))
        return answer

    def _at(self, here: Point) -> None:
        for hold, point in armed(self._folder):
            if point.names(here):
                hold.stop_here()


class SomeGone:
    """The processes of this host, some of which count as gone."""

    def __init__(self, real: Processes, gone: frozenset[int]) -> None:
        self._real = real
        self._gone = gone

    def this(self) -> Owner:
        return self._real.this()

    def alive(self, owner: Owner) -> bool | None:
        return False if owner.pid in self._gone else self._real.alive(owner)

    def origin_status(self, origin: str) -> OriginStatus:
        return self._real.origin_status(origin)

    def new_id(self) -> str:
        return self._real.new_id()


def held(folder: Path, gone: frozenset[int]) -> Callable[[Places, Watch], Refreshes]:
    """The real composition with the wrapped ports."""
    real = compose.refreshes

    def refreshes(places: Places, watch: Watch) -> Refreshes:
        ports = real(places, watch).ports
        wrapped = replace(
            ports,
            store=Stopping("store", ports.store, folder),
            staging=Stopping("staging", ports.staging, folder),
            small_tables=Stopping("small_tables", ports.small_tables, folder),
            seals=Stopping("seals", ports.seals, folder),
            processes=SomeGone(ports.processes, gone),
        )
        return Refreshes(wrapped)

    return refreshes


if __name__ == "__main__":
    _, _folder, _pids, *_words = sys.argv
    _gone = frozenset() if _pids == "-" else frozenset(map(int, _pids.split(",")))
    compose.refreshes = held(Path(_folder), _gone)  # type: ignore[assignment]
    end(main(_words))
