"""Watching a refresh: each chunk once, by the process that commits it, and what was done before."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.ports.watch import Committed, Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.views.lines import Lines
from tests.unit.runner.faults import Killed, at, disconnected
from tests.unit.runner.phased import BY_VNODE, MINE, changed, loaded, started
from tests.unit.runner.world import INPUT, NAME, ONE, World, row

IN_SPLITS = {"chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}


@dataclass
class Remembering(Silent):
    """A watch that remembers."""

    chunks: list[Committed] = field(default_factory=list)
    moved: list[tuple[str, int, int]] = field(default_factory=list)

    def advance(self, rows: int, chunks: int = 1) -> None:
        self.moved.append(("advance", rows, chunks))

    def skip(self, rows: int, chunks: int) -> None:
        self.moved.append(("skip", rows, chunks))

    def committed(self, chunk: Committed) -> None:
        self.chunks.append(chunk)


def watched(world: World) -> Remembering:
    """A refresh by another process, watched."""
    watch = Remembering()
    Refreshes(replace(world.process(), watch=watch)).run(NAME, ONE)
    return watch


@pytest.mark.parametrize("workers", [1, 3])
def test_a_resumed_run_reports_only_the_chunks_that_it_commits(workers: int) -> None:
    world = changed(**BY_VNODE)
    first, second = Remembering(), Remembering()
    request = ONE.model_copy(update={"workers": workers})
    with at(world.lake, "begin /gold", disconnected, nth=4), pytest.raises(Retry):
        Refreshes(replace(world.ports, watch=first)).run(NAME, request)
    result = Refreshes(replace(world.process(), watch=second)).run(NAME, request)
    seen = [(c.unit, c.number) for c in (*first.chunks, *second.chunks)]
    assert len(seen) == len(set(seen)) == result.chunks.done
    assert sum(c.rows for c in (*first.chunks, *second.chunks)) == result.rows.updated + 2  # one came, one went
    assert len(first.chunks) == result.chunks.skipped > 0
    assert {kind for kind, *_ in second.moved} == {"skip"}
    assert sum(chunks for *_, chunks in second.moved) == result.chunks.skipped
    assert sum(rows for _, rows, _ in second.moved) == sum(c.rows for c in first.chunks)


def test_splits_of_a_load_are_no_chunks_and_those_staged_before_are_skipped() -> None:
    world = World(row(0), **IN_SPLITS)
    world.run()
    world.lake.append(INPUT, [row(i) for i in range(10, 30)])
    with at(world.lake, "begin memory://staging", nth=2), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    watch = watched(world)
    splits = len(watch.moved)
    assert watch.moved == [("skip", 0, 1), *[("advance", 0, 1)] * (splits - 1)]
    assert splits > 1
    assert sum(c.rows for c in watch.chunks) == 20


def test_lines_say_run_unit_chunk_way_and_rows() -> None:
    world = changed(**BY_VNODE)
    run_id = started(world).run_id
    unit = next(u for u in loaded(world) if u.chunks == 3)
    _merged(world, unit.unit, nth=2)
    said = _merged(world, unit.unit)
    assert said[:2] == [f"merge: {unit.rows} rows in 3 chunks", "merge: 1 of 3 chunks were already in the target"]
    lines = [
        re.fullmatch(rf"run {run_id}, unit {unit.unit}: chunk (\d) of 3 by (\w+), (\d) rows, [\d,]+ rows/s", line)
        for line in said[2:]
    ]
    assert [line and line.groups() for line in lines] == [("2", "keyed_replace", "1"), ("3", "keyed_replace", "2")]


def _merged(world: World, unit: int, nth: int = 99) -> list[str]:
    """The lines of a unit whose merge is interrupted at a commit."""
    said: list[str] = []
    ports: Any = replace(world.process(), watch=Lines(said.append))
    try:
        with at(world.lake, "begin /gold", disconnected, nth):
            one_task.merge_unit(ports, NAME, MINE, unit)
    except Retry:
        pass
    return said


def test_a_first_load_reports_its_totals_too() -> None:
    said: list[str] = []
    world = World(*[row(i) for i in range(9)])
    watching = replace(world.process(), watch=Lines(said.append))
    Refreshes(watching).run(NAME, ONE)
    world.become(*[row(i) for i in range(11)])
    Refreshes(watching).run(NAME, ONE)
    assert [line for line in said if line.startswith("merge")] == [
        "merge: 9 rows in 1 chunk",
        "merge: 2 rows in 1 chunk",
    ]
