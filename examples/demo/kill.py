"""The kill: a running merge task and the Spark server get SIGKILL at the same moment."""

from __future__ import annotations

import os
import signal
import sys

from airflow_refresh_provider.compose import embedded_server, refreshes
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from examples.demo.dag_run import DagRun
from examples.demo.screen import say
from examples.rest import TaskSeen

_IN_BEFORE = 4
"""Chunks that are in the target before the kill, so that there is something to skip."""


def kill_in_the_middle(run: DagRun, places: Places, name: str) -> dict[int, int]:
    """Kill a unit's task that has committed some of its chunks, and Spark. Returns the chunks in by then, by unit."""
    victim, pid = _await_victim(run, refreshes(places), name)
    server = embedded_server(places).status().pid
    if server is None:
        sys.exit("demo: no Spark server is there to be killed")
    os.kill(pid, signal.SIGKILL)
    os.kill(server, signal.SIGKILL)
    reached = _reached(refreshes(places), name)
    say(
        f"[red]SIGKILL[/red] to the task {victim.name} (process {pid}) and to the Spark server (process {server}): "
        f"{sum(reached.values())} chunks are in"
    )
    return reached


def _await_victim(run: DagRun, looking: Refreshes, name: str) -> tuple[TaskSeen, int]:
    """A task in the middle of its unit, and its process. Ends the demo when there is none."""
    units: list[dict[str, int]] = []
    for tasks in run.looks():
        states = {(task.task_id, task.state) for task in tasks}
        if not units and ("load", "success") in states:
            units = run.returned("load")
        reached = _reached(looking, name) if units else {}
        if sum(reached.values()) < _IN_BEFORE:
            continue
        for task in tasks:
            if task.task_id == "merge" and task.state == "running" and task.pid and task.map_index >= 0:
                unit = units[task.map_index]
                if 0 < reached.get(unit["unit"], 0) < unit["chunks"]:
                    return task, task.pid
        if ("finish", "running") in states:
            sys.exit("demo: the refresh ended before it could be killed")
    raise AssertionError("looking has a limit")


def _reached(looking: Refreshes, name: str) -> dict[int, int]:
    """Chunks that are in, by unit."""
    rows = looking.progress(name).vnodes
    return {unit: max(row.chunk for row in rows if row.unit == unit) for unit in {row.unit for row in rows}}
