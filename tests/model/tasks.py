"""Actors that are tasks of one DAG run: phases of a refresh, and earlier tries of them that are still running.

A try is not ended here before the next one starts, so only the fence stops it.
"""

from __future__ import annotations

from functools import partial

from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.steps import one_task
from tests.model.actors import Actor
from tests.model.world import ModelWorld
from tests.unit.runner.world import NAME, ONE

TASK = ONE.model_copy(update={"origin": "dag/one"})


def tasks(world: ModelWorld, name: str) -> Actor:
    """All tasks, one after the other; a second such actor is their retries while the first tries are running."""
    return Actor(name, partial(_all, world.ports(name)))


def unit(world: ModelWorld, name: str, slot: int) -> Actor:
    """The task of one unit of a run that is loaded."""
    return Actor(name, lambda: one_task.merge_unit(world.ports(name), NAME, TASK, slot))


def last_unit(world: ModelWorld, name: str, slot: int) -> Actor:
    """The task of the last unit, and that of the end, which waits for it."""
    return Actor(name, partial(_to_the_end, world.ports(name), slot))


def load(world: ModelWorld, name: str) -> None:
    """The tasks before those of the units, done at once."""
    ports = world.ports(name)
    one_task.start(ports, NAME, TASK)
    one_task.fill(ports, NAME, TASK)


def interrupter(world: ModelWorld, name: str) -> Actor:
    """The DAG run is marked as failed."""
    return Actor(name, lambda: one_task.interrupt(world.ports(name), NAME, TASK))


def _all(ports: Ports) -> None:
    if isinstance(one_task.start(ports, NAME, TASK), RunResult):
        return
    for piece in one_task.fill(ports, NAME, TASK):
        one_task.merge_unit(ports, NAME, TASK, piece.unit)
    one_task.finish(ports, NAME, TASK)


def _to_the_end(ports: Ports, slot: int) -> None:
    one_task.merge_unit(ports, NAME, TASK, slot)
    one_task.finish(ports, NAME, TASK)
