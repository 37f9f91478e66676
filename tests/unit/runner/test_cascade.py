"""Cascades: a diamond of definitions reads one set of input versions; what a failure stops."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.ownership import CONTROL, DEFINITION
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult
from airflow_refresh_provider.errors import Interrupted, Invalid
from airflow_refresh_provider.runner.admin.cascades import pinned
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from airflow_refresh_provider.testing.memory_rows import shown
from tests.unit.runner.faults import Killed, at, disconnected
from tests.unit.runner.world import COLUMNS, FORCE, INPUT, NAME, ONE, TARGET, World, definition, ordered, row

LEFT, RIGHT, TOP, APART = "left", "right", "top", "apart"
JOINED = "SELECT x.* FROM x JOIN y USING (k)"
DONE, NOTHING = Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO
FAILED, REFUSED, SKIPPED = Outcome.FAILED, Outcome.REFUSED, Outcome.SKIPPED


def diamond() -> World:
    """The input -> orders -> left, right -> top, and one apart that reads the input too; each refreshed once."""
    world = World(row(1), row(2))
    world.run()
    for name, *reads in ((LEFT, TARGET), (RIGHT, TARGET), (TOP, "/gold/left", "/gold/right"), (APART, INPUT)):
        changes: dict[str, Any] = {"name": name, "target": f"/gold/{name}"}
        changes["inputs"] = {key: {"path": place} for key, place in zip("xy", reads, strict=False)}
        world.refreshes.register(definition(**changes, **({"query": JOINED} if len(reads) > 1 else {})))
        world.refreshes.run(name, ONE)
    return world


def states(result: RefreshesResult) -> dict[str, Outcome]:
    return {step.name: step.outcome for step in result.refreshes}


def rows(world: World, name: str) -> list[dict[str, Any]]:
    return ordered(map(shown, world.lake.rows(f"/gold/{name}")))


def test_upstream_definitions_are_refreshed_first() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])
    result = world.refreshes.cascade([TOP], ONE)
    assert [step.name for step in result.refreshes] == [NAME, LEFT, RIGHT, TOP]
    assert (result.outcome, set(states(result).values())) == (DONE, {DONE})
    assert row(3) in rows(world, TOP)
    assert row(3) not in rows(world, APART)


def test_all_read_the_outer_inputs_at_one_version() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])
    once = iter([True])

    def moving(what: str) -> None:
        if what == "begin /gold/orders" and next(once, False):
            world.lake.append(INPUT, [row(50)])

    world.lake.step = moving
    result = world.refreshes.cascade([APART, TOP], ONE)
    assert set(states(result)) == {NAME, LEFT, RIGHT, TOP, APART}
    assert all(row(3) in rows(world, name) and row(50) not in rows(world, name) for name in states(result))
    assert set(states(world.refreshes.cascade([APART, TOP], ONE)).values()) == {DONE}
    assert all(row(50) in rows(world, name) for name in states(result))
    again = world.refreshes.cascade([APART, TOP], ONE)
    assert (again.outcome, set(states(again).values())) == (NOTHING, {NOTHING})


def test_a_failed_refresh_stops_those_downstream_and_no_other() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])
    with at(world.lake, "begin /gold/left", disconnected):
        result = world.refreshes.cascade([APART, TOP], ONE)
    assert states(result) == {NAME: DONE, LEFT: FAILED, RIGHT: DONE, TOP: SKIPPED, APART: DONE}
    assert result.outcome is FAILED
    reasons = {step.name: (step.reason, step.error and step.error.code) for step in result.refreshes}
    assert reasons[LEFT] == ("the connection to Spark broke", "connection_lost")
    assert reasons[TOP] == ("it reads left, and that was not refreshed", None)
    assert row(3) not in rows(world, TOP)
    assert states(world.refreshes.cascade([TOP], ONE)) == {NAME: NOTHING, LEFT: DONE, RIGHT: NOTHING, TOP: DONE}


def test_a_refused_refresh_stops_those_downstream() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])
    world.refreshes.suspend(LEFT, "under investigation")
    result = world.refreshes.cascade([TOP], ONE)
    assert (result.outcome, states(result)) == (REFUSED, {NAME: DONE, LEFT: REFUSED, RIGHT: DONE, TOP: SKIPPED})


def test_an_unfinished_run_is_finished_and_then_refreshed_to_the_common_pins() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])
    with at(world.lake, "commit /gold"), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    world.lake.append(INPUT, [row(4)])
    result = Refreshes(world.process()).cascade([APART, TOP], ONE)
    assert set(states(result).values()) == {DONE}
    assert all(row(4) in rows(world, name) for name in states(result))


def test_an_interrupt_ends_the_cascade_and_the_next_one_continues() -> None:
    world = diamond()
    world.lake.append(INPUT, [row(3)])

    def stopped() -> BaseException:
        return Interrupted("interrupted", "stopped", left="", next="")

    with at(world.lake, "begin /gold/left", stopped), pytest.raises(Interrupted):
        world.refreshes.cascade([TOP], ONE)
    assert states(world.refreshes.cascade([TOP], ONE)) == {NAME: NOTHING, LEFT: DONE, RIGHT: DONE, TOP: DONE}


def test_an_unknown_name_is_refused_before_any_refresh_starts() -> None:
    world = diamond()
    before = len(world.commits)
    world.lake.append(INPUT, [row(3)])
    with pytest.raises(Invalid, match="no definition named 'unknown'"):
        world.refreshes.cascade([TOP, "unknown"], ONE)
    assert len(world.commits) == before


def test_a_base_that_is_a_target_is_pinned_at_its_published_version() -> None:
    """Its newest version may be half a refresh."""
    world = diamond()
    published = world.record.published
    world.lake.append(TARGET, [row(9, "half")])
    pin = pinned(world.ports, [(TARGET, Input(path=TARGET))])[TARGET]
    assert published and isinstance(pin, DeltaPin) and pin.version == published.version


def test_an_outer_input_that_cannot_be_read_fails_the_refreshes_that_read_it() -> None:
    world = World(row(1))
    world.lake.create(TARGET, COLUMNS)
    world.lake.reshape(TARGET, properties={CONTROL: world.store.control_id, DEFINITION: NAME})
    reads = [("never published", Input(path=TARGET)), ("gone", Input(path="/nowhere")), ("sound", Input(path=INPUT))]
    assert set(pinned(world.ports, reads)) == {INPUT}
    world.lake.create("/in/leaving", COLUMNS)
    world.refreshes.register(definition(name=LEFT, target="/gold/left", inputs={"x": {"path": "/in/leaving"}}))
    world.lake.remove("/in/leaving")
    world.refreshes.register(definition(name=APART, target="/gold/apart"))
    assert states(world.refreshes.cascade([LEFT, APART], ONE)) == {LEFT: FAILED, APART: DONE}


def test_upstream_definitions_are_found_through_variables() -> None:
    world = diamond()
    world.ports.environment["LAKE"] = "/gold"
    world.refreshes.register(definition(name=LEFT, target="/gold/left", inputs={"x": {"path": "${LAKE}/orders"}}))
    world.lake.append(INPUT, [row(3)])
    result = world.refreshes.cascade([LEFT], ONE)
    assert [step.name for step in result.refreshes] == [NAME, LEFT]
    assert row(3) in rows(world, LEFT)
    assert world.refreshes.show(LEFT).definition.inputs["x"].path == "${LAKE}/orders"


FORMATS = ["delta", "parquet"]
YOUNGER = [row(2), row(3)]


def alone(format: str) -> World:
    """One definition that has applied the newest version of its input, which got three versions in three hours."""
    world = World(row(1), inputs={"x": {"path": INPUT, "format": format}})
    for hour, one in enumerate(YOUNGER, start=2):
        world.lake.append(INPUT, [one])
        world.lake.times[INPUT, hour] = BEGINNING + timedelta(hours=hour)
    world.run()
    return world


def put_back(world: World) -> None:
    """The input as it was in the first hour, with its version and its times."""
    del world.lake.table(INPUT).versions[2:]


def at_base(world: World, format: str) -> Request:
    """What a cascade that starts now requests of each refresh."""
    return ONE.model_copy(update={"pins": pinned(world.ports, [("x", Input(path=INPUT, format=format))])})


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("asked", [ONE, FORCE], ids=["plain", "forced"])
def test_a_restored_input_is_read_at_its_newest_version(format: str, asked: Request) -> None:
    world = alone(format)
    put_back(world)
    assert states(world.refreshes.cascade([NAME], asked)) == {NAME: DONE}
    assert world.target() == world.source() == [row(1)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_restored_input_that_has_changed_again_is_read_as_pinned(format: str) -> None:
    world = alone(format)
    put_back(world)
    asked = at_base(world, format)
    world.lake.append(INPUT, [row(4)])
    world.run(asked)
    assert world.target() == [row(1)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_newer_version_that_was_applied_by_hand_stays(format: str) -> None:
    world = World(row(1), inputs={"x": {"path": INPUT, "format": format}})
    asked = at_base(world, format)
    world.lake.append(INPUT, YOUNGER)
    world.lake.times[INPUT, 2] = BEGINNING + timedelta(hours=2)
    world.run()
    world.lake.append(INPUT, [row(4)])
    assert world.run(asked).outcome is Outcome.NOTHING_TO_DO
    assert world.target() == [row(1), *YOUNGER]
