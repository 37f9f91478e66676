"""Inputs that are replaced while a run reads them, by files of the same names and versions of the same numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS
from airflow_refresh_provider.core.run.results import Outcome, UnitOfWork
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from tests.unit.runner.phased import BY_VNODE, ended, finished, loaded, merged, started
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, World, row

FORMATS = pytest.mark.parametrize("format", ["delta", "parquet"])
TWICE = [row(1, "b"), row(1, "c"), row(3)]
SOUND = [row(1, "b"), row(3)]


def reading(format: str, *rows: dict[str, Any], **options: Any) -> World:
    return World(*rows, inputs={"x": {"path": INPUT, "format": format}}, **options)


def replace_input(world: World, *rows: dict[str, Any]) -> None:
    """Another table in the place of the input, with as many versions; its files are newer."""
    versions = len(world.lake.table(INPUT).versions)
    world.lake.remove(INPUT)
    for number in range(versions):
        world.lake.times[INPUT, number] = world.lake.times.get((INPUT, number), BEGINNING) + timedelta(hours=1)
    world.lake.create(INPUT, COLUMNS, rows)
    while len(world.lake.table(INPUT).versions) < versions:
        world.lake.optimize(INPUT)


def replace_before(world: World, what: str, *rows: dict[str, Any]) -> None:
    """The same once, before the first step whose name starts so."""

    def step(name: str) -> None:
        if name.startswith(what):
            world.lake.step = lambda _what: None
            replace_input(world, *rows)

    world.lake.step = step


def refused(world: World, unit: UnitOfWork) -> None:
    with pytest.raises(Failed, match="has changed since the run pinned it") as caught:
        merged(world, unit)
    assert caught.value.code == "input_missing"


def next_run_abandons(world: World) -> bool:
    """Whether the next refresh abandons the run and makes the target equal to the input as it is now."""
    result = Refreshes(ended(world, "dag/one")).run(NAME, ONE)
    outcomes = [entry.outcome for entry in world.refreshes.history(NAME)]
    return not result.resumed and Outcome.ABANDONED in outcomes and world.fresh()


@FORMATS
def test_rows_with_unchecked_keys_are_not_loaded(format: str) -> None:
    world = reading(format, row(1), row(2))
    started(world)
    [unit] = loaded(world)
    replace_input(world, *TWICE)
    refused(world, unit)
    assert world.target() == []
    replace_input(world, *SOUND)
    assert next_run_abandons(world)


@FORMATS
def test_a_table_is_not_rewritten_from_uncompared_rows(format: str) -> None:
    world = reading(format, *[row(i) for i in range(LITERAL_KEYS + 1)])
    world.run()
    world.become(*[row(i, "b") for i in range(LITERAL_KEYS + 1)])
    before = world.target()
    started(world)
    [unit] = loaded(world)
    replace_input(world, *TWICE)
    refused(world, unit)
    assert world.target() == before
    replace_input(world, *SOUND)
    assert next_run_abandons(world)


@FORMATS
@pytest.mark.parametrize("again", [False, True], ids=["first_load", "rewrite"])
def test_a_chunk_that_read_a_replaced_input_is_not_published(format: str, *, again: bool) -> None:
    rows = range(LITERAL_KEYS + 1)
    world = reading(format, *[row(i) for i in rows])
    if again:
        world.run()
        world.become(*[row(i, "b") for i in rows])
    published = world.record.published
    started(world)
    [unit] = loaded(world)
    replace_before(world, "commit /gold", *SOUND)
    merged(world, unit)
    with pytest.raises(Failed, match="has changed since the run pinned it"):
        finished(world)
    assert world.record.published == published
    assert next_run_abandons(world)


@FORMATS
def test_changes_staged_from_two_tables_are_abandoned(format: str) -> None:
    world = reading(format, row(1), row(2))
    world.run()
    world.become(row(1, "b"), row(2))
    before = world.target()
    replace_before(world, "begin memory://staging", *SOUND)
    with pytest.raises(Failed, match="has changed since the run pinned it"):
        world.run()
    assert world.record.run is None
    assert world.target() == before
    world.run()
    assert world.fresh()


@FORMATS
def test_a_second_comparison_with_two_tables_is_abandoned(format: str) -> None:
    world = reading(format, *[row(i) for i in range(9)], **BY_VNODE)
    world.run()
    world.become(*[row(i, "b") for i in range(9)])
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    world.lake.rewrite(TARGET, lambda found: found | {"v": "foreign"})
    replace_before(world, "begin memory://staging", *SOUND)
    with pytest.raises(Failed, match="has changed since the run pinned it"):
        finished(world)
    assert next_run_abandons(world)


@FORMATS
def test_staged_changes_are_applied_although_the_input_was_replaced(format: str) -> None:
    world = reading(format, row(1), row(2))
    world.run()
    world.become(row(1, "b"), row(2))
    wanted = world.source()
    started(world)
    [unit] = loaded(world)
    replace_input(world, *SOUND)
    merged(world, unit)
    finished(world)
    assert world.target() == wanted
    world.run()
    assert world.fresh()
