"""Registering and recovering definitions; progress, history and comparisons."""

import re
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Failed, Invalid, Refused
from airflow_refresh_provider.runner.facts import staging_paths
from airflow_refresh_provider.runner.facts.ended_runs import RUN_ENDED
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_reads import MemoryFolders
from airflow_refresh_provider.testing.memory_table import ROW_BYTES
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, World, definition, row


def interrupted(point: str = "begin /gold", nth: int = 2) -> World:
    world = World(row(1), row(2), row(3), **LIVE)
    world.run()
    world.become(row(1, "b"), row(3), row(4))
    with at(world.lake, point, nth=nth), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    return world


def test_registering_returns_registered_changed_or_unchanged() -> None:
    world = World()
    assert world.refreshes.register(definition()).outcome == "unchanged"
    assert world.refreshes.register(definition(owner="me")).outcome == "changed"
    assert world.refreshes.show(NAME).definition.owner == "me"
    assert [s.name for s in world.refreshes.statuses()] == [NAME]


def test_a_new_definition_with_nearly_the_name_of_another_is_noticed() -> None:
    world = World()
    [notice] = world.refreshes.register(definition(name="order", target="/gold/order")).notices
    assert (notice.code, NAME in notice.message) == ("similar_name", True)
    assert not world.refreshes.register(definition(name="order", target="/gold/order", owner="me")).notices
    assert not world.refreshes.register(definition(name="border", target="/gold/border")).notices


def test_an_unknown_name_has_a_suggestion() -> None:
    with pytest.raises(Invalid, match="Did you mean orders"):
        World().refreshes.show("ordres")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "/gold/orders/inner"}, "target of other (/gold/orders/inner) lies inside the target of orders"),
        ({"target": f"{INPUT}/gold"}, f"target of other ({INPUT}/gold) lies inside the input x of other ({INPUT})"),
        ({"target": "/in"}, "target of other (/in) has inside it the input x of other"),
    ],
)
def test_a_definition_whose_places_overlap_with_others_is_not_stored(change: dict[str, Any], message: str) -> None:
    world = World()
    with pytest.raises(Refused) as refused:
        world.refreshes.register(definition(name="other", **change))
    assert (refused.value.code, message in refused.value.message) == ("places_overlap", True)
    assert [s.name for s in world.refreshes.statuses()] == [NAME]


def test_a_link_that_leads_into_the_target_since_it_was_registered_is_refused_when_a_run_starts() -> None:
    world = World(row(1))
    world.run()
    folders = world.ports.folders
    assert isinstance(folders, MemoryFolders)
    folders.links[INPUT] = f"{TARGET}/inner"
    with pytest.raises(Refused, match=f"target of {NAME}.*has inside it the input x") as refused:
        world.run()
    assert refused.value.code == "places_overlap"
    assert world.refreshes.show(NAME).status is not None


def test_a_place_is_the_same_with_either_scheme_of_its_storage() -> None:
    world, gold = World(), "://lake@account.dfs.core.windows.net/gold"
    world.refreshes.register(definition(name="other", target=f"abfss{gold}"))
    for target in (f"abfs{gold}", f"abfs{gold}/inner"):
        with pytest.raises(Refused, match=r"target of other \(abfss:") as refused:
            world.refreshes.register(definition(name="another", target=target))
        assert refused.value.code == "places_overlap"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"vnodes": 8}, "vnodes_changed"),
        ({"keys": ["v"]}, "keys_changed"),
        ({"layout": "plain", "vnodes": "auto"}, "layout_changed"),
    ],
)
def test_what_the_target_cannot_follow_is_refused_when_it_is_registered(change: dict[str, Any], code: str) -> None:
    world = World(row(1), layout="vnode", vnodes=4)
    world.run()
    before = world.record
    with pytest.raises(Refused) as refused:
        world.refreshes.register(definition(**({"layout": "vnode", "vnodes": 4} | change)))
    assert (refused.value.code, world.record) == (code, before)


def test_registering_an_unchanged_definition_reads_only_the_record() -> None:
    world = World()
    del world.lake.tables[INPUT]
    assert world.refreshes.register(definition()).outcome == "unchanged"
    with pytest.raises(Invalid, match="the input x is not"):
        world.refreshes.register(definition(owner="me"))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"query": "SELEC k FROM x"}, "query_invalid"),
        ({"query": "SELECT v FROM x"}, "key_not_in_result"),
        ({"query": "SELECT max(k) AS k FROM x", "mode": "incremental"}, "not_incremental"),
    ],
)
def test_a_query_is_checked_before_it_is_stored(change: dict[str, Any], code: str) -> None:
    world = World()
    fields = definition().model_dump(exclude_unset=True) | change
    with pytest.raises(Invalid) as caught:
        world.refreshes.register(Definition.unchecked(**fields))
    assert caught.value.code == code and world.refreshes.show(NAME).definition == definition()


def test_a_second_definition_for_a_target_is_refused() -> None:
    world = World()
    with pytest.raises(Refused, match="already belongs to the definition orders"):
        world.refreshes.register(definition(name="other"))


def test_a_definition_whose_input_is_missing_is_not_registered() -> None:
    world = World()
    with pytest.raises(Invalid, match="the input x is not"):
        world.refreshes.register(definition(name="other", target="/o", inputs={"x": {"path": "/nowhere"}}))
    assert [s.name for s in world.refreshes.statuses()] == [NAME]


@pytest.mark.parametrize(
    ("point", "nth", "action"),
    [("begin /gold", 2, "resumed"), ("answer /gold", 3, "published"), ("drop memory", 1, "cleaned_up")],
)
def test_recover_finishes_what_it_finds(point: str, nth: int, action: str) -> None:
    world = interrupted(point, nth)
    (found,) = Refreshes(world.process()).recover()
    assert (found.outcome, found.result is not None) == (action, True)
    assert world.fresh()


def test_recover_abandons_what_cannot_be_resumed_and_says_why() -> None:
    world = interrupted()
    world.refreshes.register(definition(**LIVE, vnodes=2))
    (found,) = Refreshes(world.process()).recover(NAME)
    assert (found.outcome, "definition was changed" in found.reason) == ("abandoned", True)
    assert world.record.run is None
    assert not world.staged()


def test_recover_leaves_live_and_idle_definitions_alone() -> None:
    world = interrupted()
    world.dead.clear()
    assert [r.outcome for r in Refreshes(world.process()).recover()] == ["live"]
    assert [r.outcome for r in World().refreshes.recover()] == ["clean"]


def test_recover_drops_staging_that_no_run_names() -> None:
    world = World(row(1))
    world.lake.create(f"{world.ports.staging_root}/{NAME}/old/changes", COLUMNS)
    world.refreshes.recover()
    assert not world.staged()


def test_staging_of_a_killed_comparison_is_dropped_after_a_day() -> None:
    world = World(row(1))
    world.lake.create(f"{staging_paths.of_comparison(world.ports, NAME, 'some-id')}/changes", COLUMNS)
    world.refreshes.recover()
    assert world.staged()
    world.ports.clock.sleep(staging_paths.COMPARISON_KEPT.total_seconds() + 1)
    world.refreshes.recover()
    assert not world.staged()


def test_a_start_drops_staging_that_no_run_names_even_with_nothing_to_do() -> None:
    world = World(row(1))
    world.run()
    world.lake.create(f"{world.ports.staging_root}/{NAME}/old/changes", COLUMNS)
    assert world.run().outcome is Outcome.NOTHING_TO_DO
    assert not world.staged()


def test_progress_shows_how_far_an_interrupted_run_is_and_can_be_rebuilt_from_the_log() -> None:
    world = interrupted("begin /gold", 3)
    progress = world.refreshes.progress(NAME)
    assert (progress.stage, progress.chunks_done) == ("merge", 2)
    known = world.store.progress(NAME, world.interrupted.run_id)
    world.store.progress = lambda *_: []  # type: ignore[method-assign]
    written: list[object] = []
    world.store.add_progress = written.extend  # type: ignore[assignment]
    world.refreshes.rebuild_progress(NAME)
    assert written == [row.model_copy(update={"spent": None}) for row in known]  # the log does not have that


def test_rebuilding_leaves_a_run_in_progress_as_it_is() -> None:
    world = interrupted("begin /gold", 3)
    before = world.record
    found = world.refreshes.rebuild_progress(NAME)
    assert (found.restored, found.reason, found.chunks_done) == (
        False,
        "nothing is missing: a refresh or a drop is in progress",
        2,
    )
    assert world.record == before


def test_every_chunk_of_a_split_vnode_counts_in_all_progress_reports() -> None:
    world = World(*[row(i) for i in range(9)], **LIVE, vnodes=1)
    world.run()
    world.become(*[row(i, "b") for i in range(9)])
    with at(world.lake, "begin /gold", nth=4), pytest.raises(Killed):
        world.run()
    progress = world.refreshes.progress(NAME)
    assert (progress.chunks_done, progress.chunks_total, progress.rows_done, progress.rows_total) == (3, 9, 3, 9)
    shown = world.refreshes.show(NAME)
    assert shown.run is not None
    assert (shown.run.chunks_done, shown.run.chunks_total) == (3, 9)
    assert "3 of 9 chunks" in shown.status_text
    assert world.refreshes.statuses() == [shown]


def test_history_keeps_every_run_newest_first_also_of_a_dropped_definition() -> None:
    world = World(row(1))
    world.run()
    world.lake.append(INPUT, [row(2)])
    second = world.run()
    world.refreshes.drop(NAME)
    history = world.refreshes.history(NAME)
    assert history[0].run_id == second.run_id
    assert [h.outcome for h in history] == [Outcome.SUCCEEDED, Outcome.SUCCEEDED]
    with pytest.raises(Invalid):
        world.refreshes.history("never")


def test_comparing_only_returns_the_differences_and_writes_nothing() -> None:
    world = World(row(1), row(2), row(3))
    world.run()
    before = len(world.commits)
    assert world.refreshes.compare_only(NAME).equal
    world.become(row(1), row(2, "b"), row(4))
    found = world.refreshes.compare_only(NAME)
    assert (found.rows.inserted, found.rows.updated, found.rows.deleted, found.rows.unchanged) == (1, 1, 1, 1)
    assert {s.op: (s.desired, s.found) for s in found.samples} == {
        "I": (row(4), None),
        "U": (row(2, "b"), row(2)),
        "D": (None, row(3)),
    }
    assert found.bytes == ROW_BYTES * (3 + 3)
    assert len(world.commits) == before
    assert world.record.run is None
    assert not world.staged()


def test_a_run_shows_its_owner_and_whether_it_is_live() -> None:
    world = interrupted()
    status = world.refreshes.show(NAME)
    assert status.run is not None
    assert (status.state, status.run.stage, status.run.live) == ("FINISHING", "merge", False)
    assert world.another(ONE).resumed
    assert world.refreshes.show(NAME).run is None


def test_a_failed_recovery_hides_no_other() -> None:
    world = World(row(1))
    world.refreshes.register(definition(name="another", target="/gold/another"))
    for name in ("another", NAME):
        with at(world.lake, "commit /gold"), pytest.raises(Killed):
            world.refreshes.run(name, ONE)
    world.die(world.ports)
    wrong = Failed("bad_value", "a row cannot be computed", left="as it was", next="fix it")
    with at(world.lake, "begin /gold/another", lambda: wrong):
        found = {r.name: r for r in Refreshes(world.process()).recover()}
    assert found["another"].outcome == "failed"
    assert found["another"].error and found["another"].error.code == "bad_value"
    assert found[NAME].outcome == "resumed"
    with at(world.lake, "begin /gold/another", lambda: wrong), pytest.raises(Failed):
        Refreshes(world.process()).recover("another")


def test_a_history_entry_of_an_older_version_is_read() -> None:
    world = World(row(1))
    world.run()
    [entry] = [event for event in world.store.events(NAME) if event.event == RUN_ENDED]
    older = entry.detail.replace('"format":6', '"format":3', 1)
    for added in (',"target_lag_seconds":null', ',"fell_back":false', *_spent_in(older), *_attempts_in(older)):
        assert added in older
        older = older.replace(added, "", 1)
    world.store.add_event(entry.model_copy(update={"detail": older}))
    [read] = world.refreshes.history(NAME)
    assert read.result and (read.result.target_lag_seconds, read.result.fell_back) == (None, False)
    assert (read.spent, read.bytes_to_read, read.result.spent, read.result.bytes_to_read) == (None,) * 4
    assert (read.owners, read.requested_mode, read.mode, read.result.owners) == ((), None, None, ())
    shown = table_of([read])
    cells = dict(zip(shown.columns, shown.rows[0], strict=True))
    assert [cells[name] for name in ("in Spark", "to read", "written")] == [None] * 3


def _spent_in(detail: str) -> list[str]:
    """What an entry says of the cost of its run, once for the entry and once for its result."""
    return re.findall(r',"spent":\{[^}]*\}|,"bytes_to_read":\w+', detail)


def _attempts_in(detail: str) -> list[str]:
    """What an entry says of its attempts and modes, for itself and for its result."""
    return re.findall(r',"owners":\[[^]]*\]|,"requested_mode":"full"(?:,"mode":"full")?', detail)


def test_a_history_entry_of_a_newer_version_is_refused() -> None:
    world = World(row(1))
    world.run()
    [entry] = [event for event in world.store.events(NAME) if event.event == RUN_ENDED]
    newer = entry.detail.replace('"format":6', '"format":7', 1)
    world.store.add_event(entry.model_copy(update={"detail": newer}))
    with pytest.raises(Invalid, match="cannot read") as e:
        world.refreshes.history(NAME)
    assert e.value.code == "newer_control_format"
