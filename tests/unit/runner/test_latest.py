"""`on_duplicate: latest` in incremental mode: of an input that only gains rows these are read, else keys."""

from __future__ import annotations

import random

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.unit.runner.world import INPUT, World, row

LATEST = {"mode": "incremental", "on_duplicate": "latest", "latest_by": "v"}


def newest(world: World) -> dict[int, str]:
    """What the target is to hold."""
    found: dict[int, str] = {}
    for one in world.source():
        found[one["k"]] = max(one["v"], found.get(one["k"], ""))
    return found


def held(world: World) -> dict[int, str]:
    return {one["k"]: one["v"] for one in world.target()}


def test_only_newer_rows_replace_those_of_the_target() -> None:
    world = World(row(1, "e"), row(2, "a"), **LATEST)
    world.run()
    world.lake.append(INPUT, [row(1, "b"), row(2, "b"), row(3, "a"), row(3, "c")])
    result = world.run()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, updated=1, unchanged=1))
    assert held(world) == {1: "e", 2: "b", 3: "c"}


def test_a_row_that_comes_again_changes_nothing() -> None:
    world = World(row(1, "e"), **LATEST)
    world.run()
    world.lake.append(INPUT, [row(1, "e")])
    assert world.run().rows == Rows(unchanged=1)


def test_where_a_row_was_removed_an_older_one_takes_its_place() -> None:
    world = World(row(1, "a"), row(1, "b"), row(2, "a"), **LATEST)
    world.run()
    world.lake.rewrite(INPUT, lambda one: None if one["v"] == "b" else one)
    first = world.run()
    assert (first.mode, first.mode_code) == ("full", "verification")
    assert held(world) == {1: "a", 2: "a"}

    world.lake.append(INPUT, [row(2, "c")])
    assert world.run().mode == "incremental"
    world.lake.rewrite(INPUT, lambda one: None if one["v"] == "c" else one)
    result = world.run()
    assert (result.mode, result.touched, result.rows) == ("incremental", 1, Rows(updated=1, unchanged=1))
    assert held(world) == {1: "a", 2: "a"}


def test_where_the_rows_of_a_key_cannot_be_found_all_are_compared() -> None:
    world = World(row(1, "a"), row(2, "b"), query="SELECT 1 AS k, v FROM x", **LATEST)
    world.run()
    world.lake.rewrite(INPUT, lambda one: None if one["v"] == "b" else one)
    result = world.run()
    assert (result.mode, result.mode_code) == ("full", "doubtful_keys")
    assert "on_duplicate: latest" in (result.mode_reason or "")


@pytest.mark.parametrize("seed", range(20))
def test_after_any_changes_the_target_has_the_newest_of_all(seed: int) -> None:
    chance = random.Random(seed)
    world = World(*(row(k, chance.choice("abcxyz")) for k in range(5)), **LATEST)
    world.run()
    modes = []
    for _ in range(6):
        world.lake.rewrite(INPUT, lambda one: chance.choice([None, row(one["k"], chance.choice("abcxyz")), one, one]))
        world.lake.append(INPUT, [row(chance.randrange(5), chance.choice("abcxyz")) for _ in range(2)])
        modes.append(world.run().mode)
        assert held(world) == newest(world)
    # The first one in which rows went was verified.
    assert modes.count("full") <= 1


@pytest.mark.parametrize("seed", range(20))
def test_after_any_additions_the_target_has_the_newest_of_all(seed: int) -> None:
    chance = random.Random(seed)
    world = World(row(0, "m"), **LATEST)
    world.run()
    for _ in range(4):
        world.lake.append(INPUT, [row(chance.randrange(5), chance.choice("abcxyz")) for _ in range(4)])
        assert world.run().mode == "incremental"
        assert held(world) == newest(world)
