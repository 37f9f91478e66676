"""Incremental runs: what the inputs say has changed is applied, and everything is compared where that may be wrong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.log.seal import seals
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, Rows, RunResult
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.views.lines import Lines
from tests.unit.runner.faults import POINTS, Killed, at
from tests.unit.runner.world import COLUMNS, FORCE, INPUT, NAME, ONE, RESTART, TARGET, World, definition, row

SIX = [row(i) for i in range(6)]
LIVE = {"visibility": "live", "chunking": {"one_commit_up_to": 2, "chunk_rows": 2}}


def incremental(*rows: dict[str, object], **changes: object) -> World:
    """A world whose first refresh is done."""
    world = World(*(rows or SIX), mode="incremental", **changes)
    world.run()
    return world


def windows_in_the_log(world: World) -> list[tuple[int | str, int | str]]:
    notes = [s.note for s in seals(world.commits, world.lake.table(TARGET).table_id)]
    return [(n.windows["x"].after, n.windows["x"].upto) for n in notes if n.windows]


def compared_in_full(world: World, result: RunResult, reason: str) -> bool:
    return world.fresh() and result.mode == "full" and reason in (result.mode_reason or "") and not result.windows


def killed(world: World, point: str, nth: int = 1) -> None:
    """Start a refresh in a process that dies at a step, if that is reached."""
    with at(world.lake, point, nth=nth), suppress(Killed):
        world.run()
    world.die(world.ports)


def without_feed(world: World) -> None:
    """Disable the change data feed of the input."""
    world.lake.reshape(INPUT, properties={"delta.enableChangeDataFeed": "false"})


def change(world: World) -> None:
    """Update a row, delete one, and add one, in two versions."""
    first, second = sorted(r["k"] for r in world.source())[:2]
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == first else r | {"v": r["v"] + "b"} if r["k"] == second else r)
    world.lake.append(INPUT, [row(100 + len(world.source()) + first)])


@pytest.mark.parametrize("options", [{}, LIVE, LIVE | {"layout": "vnode", "vnodes": 8}])
def test_only_the_window_is_applied(options: dict[str, object]) -> None:
    world = incremental(**options)
    change(world)
    result = world.run()
    assert world.fresh()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, updated=1, deleted=1, unchanged=4))
    assert result.windows == {"x": (1, 3)}
    assert result.mode_reason == "changes of x in versions 2 to 3"


def test_windows_touch_and_never_overlap() -> None:
    world = incremental()
    for _ in range(3):
        change(world)
        world.run()
        assert world.fresh()
    found = windows_in_the_log(world)
    assert len(found) == 3
    assert all(before[1] == after[0] for before, after in pairwise(found))
    assert found[0][0] == 1


def test_an_input_that_was_only_compacted_costs_a_seal() -> None:
    world = incremental()
    world.lake.optimize(INPUT)
    before = len(world.commits)
    result = world.run()
    assert (result.outcome, result.rows, result.windows) == (Outcome.SUCCEEDED, Rows(unchanged=6), {"x": (1, 2)})
    assert world.fresh()
    assert not any(c.data_change for c in world.commits[before:])
    change(world)
    assert world.run().windows == {"x": (2, 4)}


def test_a_foreign_commit_to_the_target_has_everything_compared() -> None:
    world = incremental()
    world.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == 3 else r)
    change(world)
    assert compared_in_full(world, world.run(), "others have written the target")


@pytest.mark.parametrize("mode", list(Mode))
def test_a_foreign_commit_is_the_reported_reason(mode: Mode) -> None:
    world = World(*SIX, mode=mode.value)
    world.run()
    world.lake.append(TARGET, [row(9)])
    said: list[str] = []
    Refreshes(replace(world.process(), watch=Lines(said.append))).run(NAME, ONE)
    [note] = [line for line in said if " reads " in line]
    assert note.endswith(
        f"reads everything: others have written the target {TARGET} since the last refresh, in version 3; foreseen: "
        "full 0 s"
    )
    assert world.fresh()


def test_keys_that_another_writer_duplicated_are_reported_with_its_versions_and_a_restore() -> None:
    world = World(*SIX)
    world.run()
    left = world.record.published
    assert left is not None
    world.lake.append(TARGET, [row(3)])
    world.lake.append(TARGET, [row(4)])
    with pytest.raises(Failed, match="versions 3 to 4") as raised:
        world.run()
    assert raised.value.code == "duplicate_target_key"
    assert f"`RESTORE TABLE delta.`{TARGET}` TO VERSION AS OF {left.version}`" in raised.value.next
    world.lake.restore(TARGET, left.version)
    world.run()
    assert world.fresh()


def test_new_key_columns_are_checked_although_the_old_ones_were_unique() -> None:
    world = World(row(1, "a"), row(1, "b"), row(2, "c"), keys=["k", "v"])
    world.run()
    world.become(row(1, "c"), row(2, "c"))
    world.refreshes.register(definition(keys=["k"]))
    with pytest.raises(Failed) as raised:
        world.run()
    assert raised.value.code == "duplicate_target_key"


def test_a_duplicate_key_is_reported_with_what_was_applied_before() -> None:
    world = World(*SIX, mode="incremental")
    world.run()
    world.lake.append(INPUT, [row(3, "again")])
    with pytest.raises(Failed) as raised:
        world.run()
    assert raised.value.code == "duplicate_key"
    assert "chunks applied so far are in the target" in raised.value.left


def test_an_abandoned_run_that_was_partly_applied_has_everything_compared() -> None:
    world = incremental(**LIVE)
    change(world)
    killed(world, f"answer {TARGET}")
    assert compared_in_full(world, world.another(RESTART), "changes of a run that was not published (id-")


def test_a_foreign_commit_during_the_run_is_noticed() -> None:
    world = incremental()
    change(world)
    once = iter([True])

    def step(what: str) -> None:
        if what == f"commit {TARGET}" and next(once, False):
            world.lake.append(TARGET, [row(77)])

    world.lake.step = step
    world.run()
    assert world.fresh()


def test_a_window_that_cannot_be_read_has_everything_compared() -> None:
    world = incremental()
    change(world)
    world.lake.table(INPUT).oldest = 3
    assert compared_in_full(world, world.run(), "no longer has every version after 1")


@pytest.mark.parametrize("options", [{}, LIVE, LIVE | {"layout": "vnode", "vnodes": 8}])
def test_added_and_removed_files_replace_a_missing_feed(options: dict[str, object]) -> None:
    world = incremental(**options)
    without_feed(world)
    for _ in range(3):
        change(world)
        world.lake.optimize(INPUT)
        change(world)
        assert (world.run().mode, world.fresh()) == ("incremental", True)
    world.lake.restore(INPUT, 1)
    assert (world.run().mode, world.fresh()) == ("incremental", True)


def test_auto_does_not_read_files_that_are_larger_than_the_input() -> None:
    world = World(*(row(i) for i in range(6)), mode="auto")
    world.run()
    without_feed(world)
    world.lake.append(INPUT, [row(9)])
    assert world.run().mode == "incremental"
    world.lake.rewrite(INPUT, lambda r: r | {"v": "c"} if r["k"] == 1 else r)
    assert compared_in_full(world, world.run(), "than it has in all")


def test_a_log_that_is_cleaned_up_while_it_is_read_has_everything_compared() -> None:
    """What was staged from the window by then is not used."""
    world = incremental()
    change(world)
    once = iter([True])

    def step(what: str) -> None:
        if what.startswith("answer memory://staging") and next(once, False):
            world.lake.table(INPUT).oldest = 3
            world.lake.rewrite(what.removeprefix("answer "), lambda _row: None)

    world.lake.step = step
    assert compared_in_full(world, world.run(), "cleaned up while its window was read")


def test_two_rows_of_one_key_are_found_although_the_window_has_only_one() -> None:
    world = incremental()
    world.lake.append(INPUT, [row(3, "again")])
    for _ in range(2):
        with pytest.raises(Failed, match="more than one row for 1 key"):
            world.run()
        assert world.record.run is None
    world.lake.rewrite(INPUT, lambda r: None if r["v"] == "again" else r)
    world.run()
    assert world.fresh()


def test_deletes_that_are_ignored_leave_rows_that_may_come_back() -> None:
    world = incremental(deletes="ignore")
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == 1 else r)
    assert world.run().rows == Rows(unchanged=6)
    world.lake.append(INPUT, [row(1, "back")])
    assert world.run().mode == "incremental"
    assert world.target() == world.source()


def test_where_deletes_are_ignored_two_rows_of_one_key_are_found_as_well() -> None:
    world = incremental(deletes="ignore")
    world.lake.append(INPUT, [row(3, "again")])
    with pytest.raises(Failed, match="more than one row for 1 key"):
        world.run()
    assert world.record.run is None


def test_a_feed_that_spark_refuses_has_everything_compared() -> None:
    world = incremental()
    change(world)
    refused = Invalid("query_invalid", "the feed has another schema", left="as it was", next="none")
    with at(world.lake, "begin memory://staging", lambda: refused):
        assert compared_in_full(world, world.run(), "another schema")


def test_a_changed_definition_has_everything_compared() -> None:
    world = incremental()
    world.refreshes.register(definition(mode="incremental", query="SELECT k, v FROM x WHERE k <> 4"))
    result = world.run()
    assert (result.mode, result.rows.deleted) == ("full", 1)
    assert "definition has changed" in (result.mode_reason or "")
    change(world)
    assert world.run().mode == "incremental"


def test_new_columns_of_the_input_have_everything_compared() -> None:
    world = incremental()
    world.lake.reshape(INPUT, (*COLUMNS, Column(name="w", type="int")))
    world.lake.append(INPUT, [row(9) | {"w": 1}])
    result = world.run()
    assert (result.mode, len(world.target())) == ("full", 7)
    assert "columns of the input x have changed" in (result.mode_reason or "")


def test_the_caller_may_choose_another_mode() -> None:
    world = incremental()
    change(world)
    full = world.run(Request(workers=1, mode=Mode.FULL))
    assert (full.mode, full.mode_reason) == ("full", "its mode is full")
    assert world.fresh()


def test_force_compares_everything_although_nothing_has_changed() -> None:
    world = incremental()
    world.lake.optimize(INPUT)
    assert world.run(FORCE).mode_reason == "a full refresh was requested"


def test_a_query_that_looks_at_many_rows_is_refused_or_compared_in_full() -> None:
    query = "SELECT k, v FROM (SELECT k, v, count(*) OVER () AS n FROM x) WHERE n > 0"
    world = World(*SIX)
    with pytest.raises(Invalid, match=r"a window without PARTITION BY \(line 1, column 32\) is not supported"):
        world.refreshes.register(definition(mode="incremental", query=query))
    world.refreshes.register(definition(mode="auto", query=query))
    world.run()
    change(world)
    assert compared_in_full(world, world.run(), "a window without PARTITION BY (line 1, column 32)")
    change(world)
    with pytest.raises(Invalid, match="PARTITION BY"):
        world.run(Request(mode=Mode.INCREMENTAL))


@pytest.mark.parametrize("options", [{}, LIVE, LIVE | {"layout": "vnode", "vnodes": 8}])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("feed", [True, False])
def test_a_run_killed_anywhere_is_finished_by_the_next_owner(
    options: dict[str, object], point: str, nth: int, *, feed: bool
) -> None:
    world = incremental(**options)
    if not feed:
        without_feed(world)
    change(world)
    killed(world, point, nth)
    world.another()
    assert world.fresh()
    change(world)
    assert world.another().mode == "incremental"
    assert world.fresh()


def test_an_interrupted_run_resumes_with_its_own_window() -> None:
    world = incremental(**LIVE)
    change(world)
    killed(world, f"answer {TARGET}")
    world.lake.append(INPUT, [row(30)])
    result = world.another()
    assert (result.resumed, result.mode, result.windows) == (True, "incremental", {"x": (1, 3)})
    assert world.run().windows == {"x": (3, 4)}
    assert world.fresh()


def test_a_full_disk_is_no_reason_to_compare_everything() -> None:
    world = incremental()
    change(world)
    full = Failed("disk_full", "no room", left="as it was", next="make room")
    with at(world.lake, "commit memory://staging", lambda: full), pytest.raises(Failed, match="no room"):
        world.run()
    result = world.another()
    assert (result.mode, result.resumed) == ("incremental", True) and world.fresh()
