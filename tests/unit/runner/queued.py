"""A definition with a run in progress, and requests that wait for its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import IfRunning, Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.ports.bundle import Ports
from tests.unit.runner.phased import changed, finished, loaded, merged, started
from tests.unit.runner.world import World

QUEUE = IfRunning.QUEUE
FULL = Request(workers=1, mode=Mode.FULL, if_running=QUEUE)
PLAIN = Request(workers=1, if_running=QUEUE)


def held(**options: Any) -> World:
    """A definition with a run that the tasks of a DAG run hold."""
    world = changed(**options)
    started(world)
    return world


def end(world: World) -> RunResult:
    """The tasks of that DAG run come to their end."""
    for unit in loaded(world):
        merged(world, unit)
    return finished(world)


def queued(world: World, request: Request = PLAIN) -> str:
    """The id of the request that another process lets wait."""
    result = world.another(request)
    assert result.outcome is Outcome.QUEUED
    return result.requests[0]


def ids(world: World) -> list[str]:
    return [one.id for one in world.record.queue]


class _Late:
    """A store before whose first write another process acts."""

    def __init__(self, store: Any, act: Callable[[], object]) -> None:
        self._store = store
        self._act: Callable[[], object] | None = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, *given: Any) -> Any:
        act, self._act = self._act, None
        if act:
            act()
        return self._store.commit(*given)


def interleaved(world: World, act: Callable[[], object]) -> Ports:
    """A process before whose first write another one acts: between its decision and that write."""
    ports = world.process()
    return replace(ports, store=_Late(ports.store, act))
