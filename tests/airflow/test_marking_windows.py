"""Marking tasks and DAG runs of incremental refreshes, on a lake in memory: no change of an input is passed over."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.log.seal import seals
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.airflow.conftest import Airflow
from tests.airflow.repeating import mark_run
from tests.airflow.shared import BY_VNODE, Shared
from tests.unit.runner.world import INPUT, NAME, TARGET, row

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), default_args={{"retries": 0}})
"""

SEAL = 9
"""The commit to the target that seals the run, after those that shut others out and those of chunks."""
WAITING = {"load": ("merge", "finish"), "merge": ("finish",), "finish": ()}
"""What waits while a task works."""


@pytest.fixture
def shared(share: Callable[..., Shared]) -> Shared:
    """A table of four units that has read its input up to version 1; rows have come in version 2."""
    made = share(mode="incremental", **BY_VNODE)
    made.world.run()
    made.world.lake.append(INPUT, [row(i) for i in range(10, 19)])
    return made


def cursor(shared: Shared) -> tuple[Any, ...]:
    """What was published from which versions of the input: as it is shown, as it is stored, as the log has it."""
    shown = Refreshes(shared.world.process()).show(NAME)
    return shown.published_version, shown.input_versions, shared.world.record.published, windows(shared)


def windows(shared: Shared) -> list[tuple[int | str, int | str]]:
    """The versions that each sealed refresh has read, those after the first up to the second."""
    world = shared.world
    notes = [seal.note for seal in seals(world.commits, world.lake.table(TARGET).table_id)]
    return [(n.windows["x"].after, n.windows["x"].upto) if n.windows else (0, int(n.inputs["x"])) for n in notes]


@pytest.mark.parametrize(
    ("marked", "then"),
    [
        ("start", [(1, 3)]),
        *(pytest.param(task, [(1, 2), (2, 3)], marks=pytest.mark.slow) for task in ("load", "merge")),
        ("finish", [(1, 2), (2, 3)]),
    ],
)
def test_a_task_that_is_marked_as_successful_instead_of_done_leaves_the_cursor_where_it_was(
    airflow: Airflow, shared: Shared, marked: str, then: list[tuple[int, int]]
) -> None:
    """Each window begins where the last published one ended, though more has come meanwhile."""
    before = cursor(shared)
    dag = airflow.dag(PHASED.format(definition=shared.definition))

    assert airflow.run(dag, marked=marked).state == "failed"

    assert cursor(shared) == before
    shared.world.lake.append(INPUT, [row(20)])
    ends = [airflow.run(dag).returned["finish"] for _ in then]
    assert [(end["mode"], *end["windows"]["x"]) for end in ends] == [("incremental", *window) for window in then]
    assert windows(shared) == [(0, 1), *then]
    assert shared.world.fresh()


@pytest.mark.usefixtures("_own_signals")
@pytest.mark.parametrize("state", ["success", pytest.param("failed", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("point", "nth", "task"),
    [("commit memory://staging", 1, "load"), ("commit /gold", 1, "merge"), ("commit /gold", SEAL, "finish")],
    ids=["load", "merge", "finish"],
)
def test_a_dag_run_that_is_marked_while_it_works_leaves_the_cursor_where_it_was(
    airflow: Airflow, shared: Shared, point: str, nth: int, task: str, state: str
) -> None:
    before = cursor(shared)
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    passed: list[str] = []

    def mark_at_the_point(what: str) -> None:
        passed.append(what)
        if what.startswith(point) and sum(step.startswith(point) for step in passed) == nth:
            mark_run(dag, state)
            os.kill(os.getpid(), signal.SIGTERM)

    shared.world.lake.step = mark_at_the_point
    seen = airflow.run(dag)
    shared.world.lake.step = lambda _what: None

    assert (seen.state, seen.tasks["release"]) == ("failed", "failed")
    assert [seen.tasks[name] for name in WAITING[task]] == ["skipped"] * len(WAITING[task])
    assert cursor(shared) == before
    shared.world.lake.append(INPUT, [row(20)])
    ends = [airflow.run(dag).returned["finish"] for _ in range(2)]
    assert [(end["mode"], end["windows"]["x"]) for end in ends] == [("incremental", [1, 2]), ("incremental", [2, 3])]
    assert windows(shared) == [(0, 1), (1, 2), (2, 3)]
    assert shared.world.fresh()
