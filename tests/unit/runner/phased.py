"""A refresh phase by phase, each in a process of its own, as the tasks of a DAG run do it."""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult, StartedRun, UnitOfWork
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_ports import MemoryProcesses
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.world import NAME, World, row

MINE = Request(origin="dag/one")
OTHER = Request(origin="dag/two")
BY_VNODE: dict[str, Any] = LIVE | {"layout": "vnode", "vnodes": 4}
PLAIN: dict[str, Any] = {}


def changed(**options: Any) -> World:
    """A refreshed target whose input has changed since."""
    world = World(*[row(i) for i in range(9)], **options)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    return world


def started(world: World, request: Request = MINE) -> StartedRun:
    found = one_task.start(world.process(), NAME, request)
    assert isinstance(found, StartedRun)
    return found


def loaded(world: World, request: Request = MINE) -> tuple[UnitOfWork, ...]:
    return one_task.fill(world.process(), NAME, request)


def merged(world: World, unit: UnitOfWork, request: Request = MINE) -> int:
    return one_task.merge_unit(world.process(), NAME, request, unit.unit)


def finished(world: World, request: Request = MINE) -> RunResult:
    return one_task.finish(world.process(), NAME, request)


def ended(world: World, origin: str, origin_status: OriginStatus = OriginStatus.FINISHED) -> Ports:
    """A new process that knows that an origin has ended."""
    ports = world.process()
    assert isinstance(ports.processes, MemoryProcesses)
    ports.processes.origin_statuses[origin] = origin_status
    return ports
