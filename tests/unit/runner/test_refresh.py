"""Undisturbed refreshes: every way to a target that equals the query."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, Rows
from airflow_refresh_provider.errors import Failed, Invalid, Paused, Refused
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import COLUMNS, FORCE, INPUT, NAME, ONE, TARGET, World, definition, row

LIVE = {"visibility": "live", "chunking": {"one_commit_up_to": 2, "chunk_rows": 2}}
BY_VNODE = LIVE | {"layout": "vnode", "vnodes": 8}
SIX = [row(i) for i in range(6)]
CHANGED = [row(0), row(1, "b"), row(3), row(4, "c"), row(7), row(8)]
BOTH_LAYOUTS = pytest.mark.parametrize("options", [{}, LIVE, BY_VNODE], ids=["one commit", "chunks", "vnodes"])


def ways(world: World) -> list[str]:
    notes = (read_note(c.note) for c in world.commits)
    return [n.way for n in notes if n and n.way]


@BOTH_LAYOUTS
def test_a_first_load_fills_an_empty_target(options: dict[str, Any]) -> None:
    world = World(*SIX, **options)
    result = world.run()
    assert world.fresh()
    assert (result.outcome, result.rows) == (Outcome.SUCCEEDED, Rows(inserted=6))
    assert set(ways(world)) == {Way.APPEND}
    assert result.published_version == world.record.published.version  # type: ignore[union-attr]


@BOTH_LAYOUTS
def test_a_second_refresh_writes_only_what_changed(options: dict[str, Any]) -> None:
    world = World(*SIX, **options)
    world.run()
    world.become(*CHANGED)
    result = world.run()
    assert world.fresh()
    assert result.rows == Rows(inserted=2, updated=2, deleted=2, unchanged=2)
    assert Way.APPEND not in ways(world)[-result.chunks.done :]


def test_a_first_load_of_several_files_goes_file_by_file_without_staging() -> None:
    world = World(row(0), row(1), **LIVE)
    world.lake.append(INPUT, [row(2), row(3)])
    world.lake.append(INPUT, [row(4), row(5)])
    result = world.run()
    assert world.fresh()
    assert (result.chunks.done, result.rows) == (3, Rows(inserted=6))
    progress = world.refreshes.progress(NAME)
    assert (progress.chunks_done, progress.rows_done) == (3, 6)


def test_a_first_load_of_several_chunks_is_staged_once_and_not_compared() -> None:
    world = World(*SIX, chunking={"one_commit_up_to": 1, "chunk_rows": 2})
    staged = "begin memory://staging"
    with at(world.lake, "read newest memory://staging") as steps, pytest.raises(Killed):
        world.run()
    assert sum(step.startswith(staged) for step in steps) == 1
    world.die(world.ports)
    with at(world.lake, "never") as steps:
        result = world.another()
    assert (result.resumed, result.rows) == (True, Rows(inserted=6)) and world.fresh()
    assert not [step for step in steps if step.startswith(staged)], "what is staged is not staged again"
    assert set(ways(world)) == {Way.APPEND} and len(ways(world)) > 1


def test_an_input_far_larger_than_a_commit_is_staged_in_splits_before_it_is_compared() -> None:
    world = World(*SIX, chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    world.run()
    world.lake.append(INPUT, [row(i) for i in range(10, 30)])
    result = world.run()
    assert world.fresh()
    assert result.rows == Rows(inserted=20, unchanged=6)


def test_rows_that_would_make_absurdly_many_chunks_make_larger_ones_and_the_result_says_so() -> None:
    world = World(row(0), chunking={"one_commit_up_to": 1, "chunk_rows": 1}, layout="vnode", vnodes=4)
    world.run()
    world.become(*[row(i) for i in range(1001)])
    notes: list[str] = []

    class Noting(Silent):
        def note(self, message: str) -> None:
            notes.append(message)

    result = Refreshes(replace(world.ports, watch=Noting())).run(NAME, ONE)
    assert world.fresh()
    assert 150 < result.chunks.done <= 250
    assert [notice.code for notice in result.notices] == ["chunk_rows_raised"]
    assert "about 5 rows instead of 1" in result.notices[0].message
    assert result.notices[0].line in notes


def test_so_does_a_first_load_of_very_many_files() -> None:
    world = World(row(0), chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    for i in range(1, 250):
        world.lake.append(INPUT, [row(i)])
    result = world.run()
    assert world.fresh()
    assert result.chunks.done == 125
    assert [notice.code for notice in result.notices] == ["chunk_rows_raised"]


def test_a_refresh_of_few_chunks_has_no_notice() -> None:
    assert World(*SIX, **LIVE).run().notices == ()


def stages(world: World) -> dict[str, int | None]:
    """Refresh; the stages that were watched, with their rows as far as they are known."""
    seen: dict[str, int | None] = {}

    class Seeing(Silent):
        def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
            seen[name] = rows

    Refreshes(replace(world.ports, watch=Seeing())).run(NAME, ONE)
    return seen


def test_stages_that_read_many_rows_say_about_how_many() -> None:
    world = World(*SIX)
    assert stages(world)["check"] == 6
    world.become(row(0))
    assert stages(world)["compare"] == 6
    world.become(*[row(i) for i in range(9)])
    assert stages(world)["compare"] == 9
    world.refreshes.register(definition(mode="incremental"))
    world.lake.append(INPUT, [row(9)])
    assert stages(world)["changes"] == 1


def test_an_empty_result_makes_an_empty_target() -> None:
    world = World()
    assert world.run().chunks.done == 0
    assert world.fresh()


def test_a_target_can_be_emptied_again() -> None:
    world = World(*SIX)
    world.run()
    world.become()
    assert world.run().rows == Rows(deleted=6)
    assert world.fresh()


def test_new_input_versions_without_a_difference_write_no_row() -> None:
    world = World(*SIX)
    world.run()
    world.become(*SIX)
    before = len(world.commits)
    assert world.run().rows == Rows(unchanged=6)
    assert world.fresh()
    assert not any(c.data_change for c in world.commits[before:])


def test_nothing_is_done_without_spark_when_no_input_has_changed() -> None:
    world = World(*SIX)
    first = world.run()
    before = len(world.commits)
    steps: list[str] = []
    world.lake.step = steps.append
    result = world.run()
    assert (result.outcome, result.published_version) == (Outcome.NOTHING_TO_DO, first.published_version)
    assert len(world.commits) == before
    assert "open session" not in steps


def test_whether_a_refresh_is_needed_can_be_asked_before() -> None:
    world = World(*SIX)
    assert world.refreshes.not_needed(NAME, ONE) is None
    world.run()
    found = world.refreshes.not_needed(NAME, ONE)
    assert found is not None and found.outcome is Outcome.NOTHING_TO_DO
    assert world.refreshes.not_needed(NAME, FORCE) is None
    world.become(*CHANGED)
    assert world.refreshes.not_needed(NAME, ONE) is None
    world.refreshes.pause(NAME)
    with pytest.raises(Paused):
        world.refreshes.not_needed(NAME, ONE)


def test_force_runs_although_nothing_has_changed() -> None:
    world = World(*SIX)
    world.run()
    assert world.run(FORCE).outcome is Outcome.SUCCEEDED


def test_foreign_writes_are_repaired_although_no_input_has_changed() -> None:
    world = World(*SIX)
    world.run()
    world.lake.append(TARGET, [row(9, "foreign")])
    assert world.run().rows == Rows(deleted=1, unchanged=6)
    assert world.fresh()


def test_a_dropped_target_is_created_again() -> None:
    world = World(*SIX)
    world.run()
    world.lake.remove(TARGET)
    assert world.run().rows == Rows(inserted=6)
    assert world.fresh()


def test_a_changed_definition_compares_everything() -> None:
    world = World(*SIX)
    world.run()
    query = "SELECT * FROM x WHERE k < 3"
    assert world.refreshes.register(definition(query=query)).outcome == "changed"
    assert world.run().rows == Rows(deleted=3, unchanged=3)
    assert world.target() == [row(0), row(1), row(2)]


def test_deletes_can_be_ignored() -> None:
    world = World(*SIX, deletes="ignore")
    world.run()
    world.become(row(0, "b"))
    assert world.run().rows == Rows(updated=1)
    assert len(world.target()) == 6


def test_of_rows_with_one_key_the_latest_is_kept_where_that_is_asked_for() -> None:
    world = World(row(1, "a"), row(1, "c"), row(1, "b"), on_duplicate="latest", latest_by="v")
    world.run()
    assert world.target() == [row(1, "c")]


def test_new_columns_are_added_and_filled() -> None:
    world = World(*SIX)
    world.run()
    _widen(world)
    world.run()
    assert world.target() == [{"k": 1, "v": "a", "w": 5}]


def test_new_columns_are_refused_where_the_definition_says_so() -> None:
    world = World(*SIX, on_schema_change={"added": "refuse"})
    world.run()
    _widen(world)
    with pytest.raises(Refused, match=r"w \(int\) is new"):
        world.run()
    assert world.record.run is None
    assert not world.staged()


@pytest.mark.parametrize(
    ("rows", "code"), [([row(1), row(None)], "null_key"), ([row(1), row(1, "b")], "duplicate_key")]
)
@pytest.mark.parametrize("filled", [False, True])
def test_bad_keys_fail_with_examples_and_leave_the_target_unchanged(rows: list[Any], code: str, filled: bool) -> None:
    world = World(*(SIX if filled else []))
    world.run()
    world.become(*rows)
    with pytest.raises(Failed, match="such as k=") as raised:
        world.run()
    assert raised.value.code == code
    assert world.record.run is None
    assert not world.staged()
    assert len(world.target()) == (6 if filled else 0)


@pytest.mark.parametrize("redacts", [True, False])
@pytest.mark.parametrize("rows", [[row(7301), row(None, "b")], [row(7301), row(7301, "b")]])
def test_stored_reasons_have_hashes_of_keys_unless_these_are_wanted(rows: list[Any], redacts: bool) -> None:
    world = World(row(7301, "c"), redact_keys=redacts, refresh={"suspend_after": 1})
    world.run()
    world.become(*rows)
    with pytest.raises(Failed) as raised:
        world.run(Request(workers=1, scheduled=True))
    reason, suspended = world.refreshes.history(NAME)[0].reason, world.record.suspended
    assert reason is not None and suspended is not None
    shown = raised.value.message.rpartition("such as ")[2]
    for stored in (reason, suspended):
        assert (shown in stored) is not redacts and ("such as #" in stored) is redacts
        assert stored.startswith(raised.value.message.partition(",")[0]) or "failed" in stored
    assert shown in pickle.loads(pickle.dumps(raised.value)).message  # noqa: S301 - our own
    kept = pickle.loads(pickle.dumps(raised.value)).kept(redact=True)  # noqa: S301 - our own
    assert shown not in kept and kept == raised.value.about("x").kept(redact=True).removeprefix("x: ")


def test_a_first_load_that_is_refused_says_that_there_is_a_target_without_rows() -> None:
    world = World(row(1), row(1, "b"))
    with pytest.raises(Failed) as raised:
        world.run()
    assert (raised.value.left, world.target()) == ("The target is there, without rows.", [])
    assert world.refreshes.history(NAME)[0].outcome is Outcome.FAILED


def test_a_mass_delete_is_refused_before_any_chunk_and_done_by_force() -> None:
    world = World(*SIX, max_delete_ratio=0.5)
    world.run()
    world.become(row(0), row(1))
    before = len(world.commits)
    with pytest.raises(Refused, match="delete 4 of 6 rows"):
        world.run()
    assert not any(c.data_change for c in world.commits[before:])
    assert world.refreshes.history(NAME)[0].outcome is Outcome.REFUSED
    assert world.run(FORCE).rows == Rows(deleted=4, unchanged=2)
    assert world.fresh()


def test_units_of_a_vnode_target_are_merged_in_parallel() -> None:
    world = World(*SIX, **BY_VNODE)
    world.run()
    world.become(*[row(i, "b") for i in range(40)])
    result = world.run(Request(workers=3))
    assert world.fresh()
    assert result.chunks.done > 3
    assert len({r.unit for r in world.store.progress(NAME, result.run_id or "")}) > 1


def test_a_view_shows_the_published_version_without_hidden_columns() -> None:
    world = World(*SIX, view="gold.orders", **BY_VNODE)
    result = world.run()
    assert views(world) == {"gold.orders": (TARGET, result.target_version, ("k", "v"))}


def test_unknown_names_and_queries_are_invalid() -> None:
    world = World()
    with pytest.raises(Invalid, match="no definition named 'other'"):
        world.refreshes.run("other", ONE)


def test_a_foreign_table_is_refused_unless_it_is_adopted() -> None:
    world = World(*SIX)
    world.lake.create(TARGET, COLUMNS, [row(0), row(9)])
    with pytest.raises(Refused, match="was not created by airflow-refresh"):
        world.run()
    adopting = World(*SIX, adopt=True)
    adopting.lake.create(TARGET, COLUMNS, [row(0), row(9)])
    assert adopting.run().rows == Rows(inserted=5, deleted=1, unchanged=1)
    assert adopting.fresh()


def test_a_table_whose_text_spark_pads_is_neither_adopted_nor_compared() -> None:
    world = World(*SIX, adopt=True)
    world.lake.create(TARGET, (COLUMNS[0], Column(name="v", type="char(5)")), [row(0, "a    ")])
    for act in (world.run, lambda: world.refreshes.compare_only(NAME)):
        with pytest.raises(Refused, match=r"CHAR columns \(v\)") as caught:
            act()
        assert caught.value.code == "padded_column"
        assert f"ALTER TABLE delta.`{TARGET}` ALTER COLUMN v TYPE STRING" in caught.value.next
    assert len(world.commits) == 2


def test_a_lost_control_root_is_replaced_by_adopting_the_target_above_its_markers() -> None:
    world = World(*SIX)
    world.run()
    world.become(*CHANGED)
    again = World(adopt=True)
    again.lake.tables |= world.lake.tables
    assert again.run().generation > world.record.generation
    assert again.fresh()


def _widen(world: World) -> None:
    world.lake.remove(INPUT)
    world.lake.create(INPUT, (*COLUMNS, Column(name="w", type="int")), [{"k": 1, "v": "a", "w": 5}])


def test_a_view_that_cannot_be_created_does_not_keep_the_run() -> None:
    world = World(row(1), view="nowhere.v")
    wrong = Invalid("query_invalid", "there is no schema nowhere", left="the view is as before", next="none")
    with at(world.lake, "view nowhere.v", lambda: wrong), pytest.raises(Failed, match="but its view") as caught:
        world.run()
    assert "there is no schema nowhere" in caught.value.message
    assert world.fresh()
    world.refreshes.register(definition(view="gold.v"))
    world.run(FORCE)
    assert set(views(world)) == {"gold.v"}


def test_a_run_that_ends_after_its_view_failed_uses_the_newest_view_name() -> None:
    world = World(row(1), view="old.v")
    with at(world.lake, "view old.v"), pytest.raises(Killed):
        world.run()
    world.refreshes.register(definition(view="new.v"))
    world.die(world.ports)
    ports = world.process()
    Refreshes(ports).run(NAME, ONE)
    assert set(ports.engine.views) == {"new.v"}  # type: ignore[attr-defined]


def views(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.ports.engine.views  # type: ignore[attr-defined]
    return found
