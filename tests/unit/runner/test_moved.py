"""A definition that gets another target: the owner of the old table, and how it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.ownership import CONTROL, DEFINITION
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, World, definition, row

ELSEWHERE = "/gold/elsewhere"
OTHER = "other"
LIVE: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}


def moved(**options: Any) -> World:
    """A refreshed target whose definition now has another one."""
    world = World(row(1), row(2), **options)
    world.run()
    world.refreshes.register(definition(target=ELSEWHERE, **options))
    return world


def interrupted() -> World:
    """A target that a run has half changed when its definition got another one."""
    world = World(row(1), row(2), **LIVE)
    world.run()
    world.become(row(1, "b"), row(2, "b"))
    with at(world.lake, "begin /gold", nth=2), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    world.refreshes = Refreshes(world.process())
    world.refreshes.register(definition(target=ELSEWHERE, **LIVE))
    return world


def take(world: World, place: str = TARGET, **options: Any) -> None:
    """Let another definition refresh a table."""
    world.refreshes.register(definition(name=OTHER, target=place, adopt=True, **options))
    world.refreshes.run(OTHER, ONE)


def version_read(world: World, place: str = TARGET) -> int:
    """The version at which a definition would read a table."""
    pin = pinned_inputs.newest(world.ports, "x", Input(path=place))
    assert isinstance(pin, DeltaPin)
    return pin.version


def refused(world: World, place: str = TARGET) -> str:
    with pytest.raises(Refused) as caught:
        take(world, place)
    return caught.value.code


@pytest.mark.parametrize("refreshed", [False, True], ids=["registered", "refreshed"])
def test_another_definition_may_adopt_the_old_table(refreshed: bool) -> None:
    world = moved()
    if refreshed:
        world.run()
    facts = world.ports.log.facts(TARGET)
    assert facts is not None
    before = targets.highest_generation(world.ports, facts)
    world.refreshes.register(definition(name=OTHER))
    with pytest.raises(Refused, match="exists and was not created"):
        world.refreshes.run(OTHER, ONE)
    world.lake.append(INPUT, [row(3)])
    take(world)
    assert world.target() == world.source()
    assert world.refreshes.show(OTHER).generation > before


@pytest.mark.parametrize("refreshed", [False, True], ids=["registered", "refreshed"])
def test_the_old_table_is_read_as_a_plain_table(refreshed: bool) -> None:
    world = moved()
    if refreshed:
        world.run()
    world.lake.append(TARGET, [row(9)])
    assert version_read(world) == len(world.commits) - 1
    take(world, "/gold/made_of_it", inputs={"x": {"path": TARGET}})
    (lag,) = world.refreshes.freshness(OTHER, why=True)[0].inputs
    assert lag.upstream is None


def test_two_definitions_swap_targets() -> None:
    world = World(row(1))
    world.run()
    take(world, ELSEWHERE)
    world.refreshes.register(definition(target="/gold/meanwhile"))
    take(world)
    world.refreshes.register(definition(target=ELSEWHERE, adopt=True))
    world.lake.append(INPUT, [row(2)])
    assert world.run().rows.inserted == 1


def test_a_definition_may_return_to_its_old_target() -> None:
    world = moved()
    world.run()
    world.refreshes.register(definition())
    world.lake.append(INPUT, [row(3)])
    world.run()
    assert world.fresh()


def test_the_target_of_an_unfinished_run_stays_with_its_definition() -> None:
    world = interrupted()
    published = world.record.published
    assert published
    assert version_read(world) == published.version < len(world.commits) - 1
    assert refused(world) == "target_taken"
    world.refreshes.recover(NAME)
    assert version_read(world) == len(world.commits) - 1
    take(world)
    assert world.target() == world.source()


def test_a_target_is_found_under_another_spelling_of_its_location() -> None:
    """A link on disk, or another scheme of the same storage."""
    world = World(row(1))
    world.run()
    world.lake.tables["/link/orders"] = world.lake.tables[TARGET]
    published = world.record.published
    world.lake.append(TARGET, [row(9, "half")])
    assert published
    assert version_read(world, "/link/orders") == published.version
    assert refused(world, "/link/orders") == "target_taken"


def test_a_copy_with_the_properties_of_a_target_has_no_owner() -> None:
    world = World(row(1))
    world.run()
    named = {CONTROL: world.store.control_id, DEFINITION: NAME}
    world.lake.create("/gold/copy", COLUMNS, [row(9)])
    world.lake.reshape("/gold/copy", properties=named)
    assert version_read(world, "/gold/copy") == len(world.lake.table("/gold/copy").versions) - 1
    take(world, "/gold/copy")
    assert world.run().outcome == "nothing_to_do"


def test_a_definition_has_no_published_version_at_a_new_location_before_a_refresh() -> None:
    world = moved()
    with pytest.raises(Failed) as caught:
        world.refreshes.published(NAME)
    assert (caught.value.code, caught.value.message) == ("not_published", f"the target {ELSEWHERE} is not there")
    result = world.run()
    assert world.refreshes.published(NAME).version == result.target_version


def test_a_table_that_replaced_a_target_is_not_read_as_it() -> None:
    world = World(row(1))
    world.run()
    world.lake.remove(TARGET)
    world.lake.create(TARGET, COLUMNS, [row(9)])
    with pytest.raises(Failed, match="is not the table that the last refresh wrote") as caught:
        world.refreshes.published(NAME)
    assert caught.value.code == "not_published"


def test_an_adopted_table_may_have_markers_of_other_writers() -> None:
    world = World(row(1), adopt=True)
    world.lake.create(TARGET, COLUMNS, [row(2)])
    versions = world.lake.table(TARGET).versions
    versions[-1] = replace(versions[-1], markers={"a stream": 2**63 - 1})
    assert world.run().generation == 1
    assert world.fresh()
