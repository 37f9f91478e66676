"""Definitions that feed each other in one DAG, on a lake in memory: a diamond that agrees, and what a failure stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.testing.memory_rows import shown
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, ordered, row

DAG = """
from airflow_refresh_provider import Definition, cascade_dag
cascade_dag(
    "cascade_{name}", [Definition.model_validate(d) for d in {definitions!r}], default_args={{"retries": 0}}
)
"""
LOW, LEFT, RIGHT, TOP, APART = "orders", "left", "right", "top", "apart"


def copies(name: str, *reads: str, **options: Any) -> dict[str, Any]:
    """A definition that copies its first input; what else it reads only has to be there."""
    places = {"orders": "/gold/orders", "base": INPUT} | {n: f"/gold/{n}" for n in (LEFT, RIGHT)}
    inputs = {f"i{n}": {"path": places[read]} for n, read in enumerate(reads)}
    given = {"name": name, "target": f"/gold/{name}", "inputs": inputs, "keys": ["k"], "max_delete_ratio": 1.0}
    return {**given, "from": "i0"} | options if len(reads) == 1 else {**given, "query": JOINED} | options


JOINED = "SELECT i0.* FROM i0 JOIN i1 USING (k)"


@pytest.fixture
def diamond(airflow: Airflow, share: Callable[..., Shared]) -> tuple[Shared, Callable[..., Any]]:
    """base -> orders -> left, right -> top, and one apart that reads the base too."""
    shared = share()
    definitions = [
        copies(TOP, LEFT, RIGHT),
        copies(LEFT, LOW),
        copies(RIGHT, LOW),
        copies(LOW, "base"),
        copies(APART, "base"),
    ]
    dag = airflow.dag(DAG.format(name="diamond", definitions=definitions))
    return shared, lambda: airflow.run(dag)


def status(shared: Shared, name: str) -> DefinitionStatus:
    return shared.world.refreshes.show(name)


def rows(shared: Shared, name: str) -> list[dict[str, Any]]:
    return ordered(map(shown, shared.world.lake.rows(f"/gold/{name}")))


def test_all_of_a_diamond_are_at_one_version(diamond: tuple[Shared, Callable[..., Any]]) -> None:
    shared, run = diamond
    seen = run()
    assert seen.state == "success"
    assert set(seen.tasks.values()) == {"success"}
    pinned = shared.world.lake.table(INPUT).newest.commit.version
    once = iter([True])

    def moving(what: str) -> None:
        """The base goes on moving while the cascade is at work."""
        if what == "begin /gold/orders" and next(once, False):
            shared.world.lake.append(INPUT, [row(50)])

    shared.world.lake.rewrite(INPUT, lambda r: r | {"v": "new"})
    shared.world.lake.step = moving
    assert run().state == "success"
    assert status(shared, LOW).input_versions == {"i0": pinned + 1}
    assert status(shared, APART).input_versions == {"i0": pinned + 1}
    assert all({"k": 1, "v": "new"} in rows(shared, name) for name in (LOW, LEFT, RIGHT, TOP, APART))
    assert not any({"k": 50, "v": "a"} in rows(shared, name) for name in (LOW, LEFT, RIGHT, TOP, APART))
    assert run().state == "success"
    assert all({"k": 50, "v": "a"} in rows(shared, name) for name in (LOW, LEFT, RIGHT, TOP, APART))


@pytest.mark.slow
def test_one_that_fails_stops_those_it_feeds_and_no_other(diamond: tuple[Shared, Callable[..., Any]]) -> None:
    shared, run = diamond
    run()
    shared.world.lake.rewrite(INPUT, lambda r: r | {"v": "new"})
    before = status(shared, TOP).published_version
    with at(shared.world.lake, "begin /gold/left", disconnected):
        seen = run()
    assert seen.state == "failed"
    assert "failed" in {seen.tasks["left.merge[0]"], seen.tasks["left.load"]}
    assert (seen.tasks["top.start"], seen.tasks["right.finish"]) == ("upstream_failed", "success")
    assert seen.tasks["apart.finish"] == "success"
    assert status(shared, TOP).published_version == before
    assert run().state == "success"
    assert {"k": 1, "v": "new"} in rows(shared, TOP)


@pytest.mark.slow
def test_parents_that_had_nothing_to_do_do_not_stop_their_children(diamond: tuple[Shared, Callable[..., Any]]) -> None:
    _shared, run = diamond
    run()
    seen = run()
    assert seen.state == "success"
    assert {state for task, state in seen.tasks.items() if task != "pin"} == {"skipped"}
