"""A lost control root: what is restored from the seals in the targets' logs, and why not if not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.log.seal import seals
from airflow_refresh_provider.core.run.admin_results import Rebuilt
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Invalid, Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import COLUMNS, INPUT, NAME, TARGET, World, definition, row

KEPT = {"mode": "incremental", "adopt": True}
LIVE: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
CONTINUES = "the next refresh continues where the last one ended"


def refreshed(times: int = 2, **changes: Any) -> World:
    """A definition whose target was refreshed some times, from one window after the other."""
    world = World(*[row(i) for i in range(6)], **(KEPT | changes))
    world.run()
    for number in range(1, times):
        world.lake.append(INPUT, [row(10 + number)])
        world.run()
    return world


def lose_control(world: World, **changes: Any) -> None:
    """Nothing is left of the control root; the definition is registered in a new one."""
    world.store = MemoryControlStore("another")
    world.ports = world.process()
    world.refreshes = Refreshes(world.ports)
    world.refreshes.register(definition(**(KEPT | changes)))


def rebuilt(world: World) -> Rebuilt:
    return world.refreshes.rebuild_progress(NAME)


def windows(world: World) -> list[tuple[int | str, int]]:
    """What each sealed refresh has read, in order; the first one everything."""
    notes = [seal.note for seal in seals(world.commits, world.lake.table(TARGET).table_id)]
    return [(n.windows["x"].after if n.windows else 0, int(n.inputs["x"])) for n in notes]


@pytest.mark.parametrize("options", [{}, LIVE, LIVE | {"layout": "vnode", "vnodes": 4}])
def test_the_next_refresh_is_incremental_and_its_window_touches_the_last_one(options: dict[str, Any]) -> None:
    world = refreshed(**options)
    before = world.record.published
    lose_control(world, **options)
    found = rebuilt(world)
    assert (found.restored, found.reason) == (True, CONTINUES)
    now = world.record.published
    assert before and now
    assert (now.origin, now.started_at) == (None, None)  # the log does not have them
    kept = {"pins": {}, "at": before.at, "started_at": before.started_at}
    assert now.model_copy(update=kept) == before.model_copy(update={"pins": {}})
    assert world.run().outcome is Outcome.NOTHING_TO_DO
    world.lake.append(INPUT, [row(20)])
    result = world.run()
    assert (result.mode, result.windows) == ("incremental", {"x": (2, 3)})
    assert all(one[1] == other[0] for one, other in pairwise(windows(world)))
    assert world.fresh()


def test_without_it_the_next_refresh_compares_everything() -> None:
    world = refreshed()
    lose_control(world)
    world.lake.append(INPUT, [row(20)])
    assert world.run().mode == "full"


def test_generations_continue_above_those_of_the_target() -> None:
    world = refreshed()
    before = world.record.generation
    lose_control(world)
    rebuilt(world)
    assert world.record.generation == before


def test_progress_is_that_of_the_last_run() -> None:
    world = refreshed()
    before = world.refreshes.progress(NAME)
    lose_control(world)
    found = rebuilt(world)
    assert (found.run_id, found.chunks_done, found.rows_done) == (before.run_id, before.chunks_done, before.rows_done)


def test_rebuilding_again_changes_nothing() -> None:
    world = refreshed()
    lose_control(world)
    rebuilt(world)
    before = world.record
    again = rebuilt(world)
    assert (again.restored, again.reason) == (False, "nothing is missing: the last refresh is known")
    assert world.record == before


def test_control_tables_from_an_old_backup_catch_up() -> None:
    world = refreshed()
    old = world.record
    world.lake.append(INPUT, [row(20)])
    newest = world.run()
    lose_control(world)
    world.store.commit(world.store.read(NAME), old, Event.REBUILD, world.ports.clock.now())
    assert rebuilt(world).restored
    assert world.record.published and world.record.published.run_id == newest.run_id
    world.lake.append(INPUT, [row(21)])
    assert world.run().windows == {"x": (3, 4)}


def test_foreign_writes_since_have_everything_compared() -> None:
    world = refreshed()
    world.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == 3 else r)
    lose_control(world)
    assert rebuilt(world).restored
    assert world.run().mode == "full"
    assert world.fresh()


def test_a_half_done_run_lost_with_the_control_root_has_everything_compared() -> None:
    world = refreshed(visibility="live", chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    world.lake.append(INPUT, [row(20), row(21), row(22)])
    with at(world.lake, "begin /gold", nth=2), pytest.raises(Killed):
        world.run()
    lose_control(world)
    assert rebuilt(world).restored
    assert world.run().mode == "full"
    assert world.fresh()


def test_a_changed_definition_is_compared_and_the_reason_says_so() -> None:
    world = refreshed()
    query = "SELECT k, v FROM x"
    lose_control(world, query=query)
    found = rebuilt(world)
    assert (found.restored, "definition has changed" in found.reason) == (True, True)
    assert world.run().mode == "full"


def test_a_replaced_input_has_everything_compared() -> None:
    world = refreshed()
    rows = world.lake.rows(INPUT)
    world.lake.remove(INPUT)
    world.lake.create(INPUT, COLUMNS, rows)
    for number in range(5):
        world.lake.append(INPUT, [row(30 + number)])
    lose_control(world)
    assert rebuilt(world).restored
    result = world.run()
    assert (result.mode, "another table" in (result.mode_reason or "")) == ("full", True)


def as_of_old(world: World) -> None:
    """Seals as they were before they said what was read."""
    edit_notes(world, lambda note: note.pop("cursor", None))


def of_another(world: World) -> None:
    edit_notes(world, lambda note: note.update(definition="other"))


def cleaned(world: World) -> None:
    world.lake.table(TARGET).oldest = len(world.commits)
    world.lake.append(TARGET, [])


def edit_notes(world: World, edit: Callable[[dict[str, object]], object]) -> None:
    table = world.lake.table(TARGET)
    for number, version in enumerate(table.versions):
        if version.commit.note:
            note = json.loads(version.commit.note)
            edit(note)
            commit = version.commit.model_copy(update={"note": json.dumps(note)})
            table.versions[number] = replace(version, commit=commit)


@pytest.mark.parametrize(
    ("happened", "reason"),
    [
        (as_of_old, "its last seal does not say which tables were read"),
        (of_another, "was by other"),
        (cleaned, "the target's log holds no seal any more"),
    ],
)
def test_a_seal_without_a_cursor_restores_nothing_and_says_why(happened: Callable[[World], None], reason: str) -> None:
    world = refreshed()
    happened(world)
    lose_control(world)
    found = rebuilt(world)
    assert (found.restored, reason in found.reason) == (False, True)
    assert world.record.published is None
    assert world.run().mode == "full"
    assert world.fresh()


def test_a_target_that_was_never_refreshed_is_an_error() -> None:
    with pytest.raises(Invalid, match="has never been refreshed"):
        World(row(1)).refreshes.rebuild_progress(NAME)


def test_a_target_of_another_control_root_is_restored_only_where_it_is_adopted() -> None:
    world = refreshed()
    lose_control(world, adopt=False)
    with pytest.raises(Refused, match="another control root"):
        rebuilt(world)
    assert world.record.published is None


def test_pins_restored_are_those_that_were_read() -> None:
    world = refreshed()
    before: VersionVector = world.record.published.pins if world.record.published else {}
    lose_control(world)
    rebuilt(world)
    now = world.record.published.pins if world.record.published else {}
    assert {n: (p.location, p.digest) for n, p in now.items()} == {n: (p.location, p.digest) for n, p in before.items()}


def copied(store: MemoryControlStore) -> MemoryControlStore:
    """A backup of control tables: later changes do not reach it."""
    backup = copy.copy(store)
    vars(backup)["_newest"] = dict(vars(store)["_newest"])
    return backup


@pytest.mark.parametrize("point", ["commit memory://staging", "commit /gold", "answer /gold"])
@pytest.mark.parametrize("act", ["refresh", "drop"])
def test_control_tables_of_a_backup_made_during_a_run_lead_to_an_equal_target(point: str, act: str) -> None:
    world = refreshed(**LIVE, mode="full")
    world.lake.append(INPUT, [row(k) for k in range(20, 24)])
    with at(world.lake, point), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    backup = copied(world.store)
    world.another()
    for number in range(30, 40):
        world.lake.append(INPUT, [row(number)])
        world.another()
    world.lake.append(INPUT, [row(99)])
    world.store = backup
    world.ports = world.process()
    world.refreshes = Refreshes(world.ports)
    if act == "drop":
        assert world.refreshes.drop(NAME, stop=True).run_abandoned
        assert world.record.dropped
        return
    assert world.run().resumed
    world.run()
    assert world.fresh()
