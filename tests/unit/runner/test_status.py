"""The status of a definition at every step of its life."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby

from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row


def statuses(world: World) -> list[str]:
    """The statuses during one refresh, read at each of its steps."""
    seen: list[str] = []

    def look(_what: str) -> None:
        world.lake.step = lambda _w: None
        seen.append(world.refreshes.show(NAME).status)
        world.lake.step = look

    world.lake.step = look
    world.run()
    world.lake.step = lambda _w: None
    return [status for status, _ in groupby(seen)]


def test_a_snapshot_is_consumed_first_and_the_log_afterwards() -> None:
    world = World(row(1), row(2), mode="incremental")
    assert world.refreshes.show(NAME).status_text == "nothing has been published yet"
    assert statuses(world) == ["Idle", "ConsumingSnapshot", "FinishingSnapshot"]
    assert (world.refreshes.show(NAME).status, world.refreshes.show(NAME).status_text) == (
        "Idle",
        "the target is published",
    )
    world.lake.append(INPUT, [row(3)])
    assert statuses(world) == ["Idle", "InitializingBatchRefresh", "ConsumingLogStore"]


def test_the_text_has_the_progress() -> None:
    world = World(row(1), mode="incremental", **LIVE)
    world.run()
    world.lake.append(INPUT, [row(i) for i in range(10, 14)])
    with at(world.lake, f"begin {TARGET}", nth=3), suppress(Killed):
        world.run()
    status = world.refreshes.show(NAME)
    assert status.status == "ConsumingLogStore"
    assert status.status_text.startswith("reads x in version 2; 2 of ")


def test_a_definition_that_is_being_dropped_is_resetting() -> None:
    world = World(row(1))
    world.run()
    world.lake.append(INPUT, [row(2)])
    with at(world.lake, f"begin {TARGET}"), suppress(Killed):
        world.run()
    world.die(world.ports)
    with at(world.lake, "drop memory://staging"), suppress(Killed):
        world.refreshes.drop(NAME)
    assert world.refreshes.show(NAME).status == "Resetting"
