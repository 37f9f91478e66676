"""Actors that are tasks of one DAG run: phases of a refresh, and tries of them that were given up but are still at it.

Nobody ends a try here before the next one begins, so what shuts it out is the fence alone.
"""

from __future__ import annotations

from functools import partial

from airflow_refresh_provider.core.results import RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner import phases
from tests.model.actors import Actor
from tests.model.world import ModelWorld
from tests.unit.runner.world import NAME, ONE

TASK = ONE.model_copy(update={"origin": "dag/one"})


def tasks(world: ModelWorld, name: str) -> Actor:
    """All tasks, one after the other; of two such actors the one is the tasks tried again while the other is at it."""
    return Actor(name, partial(_all, world.ports(name)))


def unit(world: ModelWorld, name: str, slot: int) -> Actor:
    """The task of one unit of a run that is loaded."""
    return Actor(name, lambda: phases.merge_unit(world.ports(name), NAME, TASK, slot))


def last_unit(world: ModelWorld, name: str, slot: int) -> Actor:
    """The task of the last unit, and that of the end, which waits for it."""
    return Actor(name, partial(_to_the_end, world.ports(name), slot))


def load(world: ModelWorld, name: str) -> None:
    """The tasks before those of the units, done at once."""
    ports = world.ports(name)
    phases.start(ports, NAME, TASK)
    phases.fill(ports, NAME, TASK)


def interrupter(world: ModelWorld, name: str) -> Actor:
    """The DAG run is marked as failed."""
    return Actor(name, lambda: phases.interrupt(world.ports(name), NAME, TASK))


def _all(ports: Ports) -> None:
    if isinstance(phases.start(ports, NAME, TASK), RunResult):
        return
    for piece in phases.fill(ports, NAME, TASK):
        phases.merge_unit(ports, NAME, TASK, piece.unit)
    phases.finish(ports, NAME, TASK)


def _to_the_end(ports: Ports, slot: int) -> None:
    phases.merge_unit(ports, NAME, TASK, slot)
    phases.finish(ports, NAME, TASK)
