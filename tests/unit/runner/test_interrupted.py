"""Runs that are cut off anywhere, and who goes on with them."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.note import read_note
from airflow_refresh_provider.core.owner import STALE_AFTER
from airflow_refresh_provider.core.request import IfRunning, Request
from airflow_refresh_provider.core.results import Outcome, Rows, RunResult
from airflow_refresh_provider.core.seal import seals
from airflow_refresh_provider.core.ways import LITERAL_KEYS
from airflow_refresh_provider.errors import Failed, Lost, Refused, Retry
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.faults import POINTS, Killed, at, disconnected
from tests.unit.runner.world import FORCE, INPUT, NAME, ONE, RESTART, TARGET, World, definition, row

LIVE = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
BY_VNODE = LIVE | {"layout": "vnode", "vnodes": 8}


def changed(**options: Any) -> World:
    """A refreshed target whose input has moved since."""
    world = World(*[row(i) for i in range(6)], **options)
    world.run()
    world.become(row(0), row(1, "b"), row(3), row(4, "c"), row(7), row(8))
    return world


@pytest.mark.parametrize("options", [{}, LIVE, BY_VNODE], ids=["one commit", "chunks", "vnodes"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_run_killed_anywhere_is_finished_by_the_next_owner(options: dict[str, Any], point: str, nth: int) -> None:
    world = changed(**options)
    with at(world.lake, point, nth=nth) as steps:
        cut_off = _killed(world)
    if not cut_off:
        assert sum(s.startswith(point) for s in steps) < nth
        return
    world.die(world.ports)
    result = world.another()
    assert world.fresh()
    assert result.resumed == (result.reason is not None)
    assert result.rows == Rows(inserted=2, updated=2, deleted=2, unchanged=2)


def much_changed(**options: Any) -> World:
    """A target all of whose rows have changed, more than can be named."""
    world = World(*[row(i) for i in range(LITERAL_KEYS + 1)], **options)
    world.run()
    world.become(*[row(i, "b") for i in range(LITERAL_KEYS + 1)])
    return world


@pytest.mark.parametrize("point", ["begin /gold", "commit /gold", "answer /gold"])
def test_a_table_written_anew_is_finished_by_the_next_owner(point: str) -> None:
    world = much_changed()
    with at(world.lake, point):
        _killed(world)
    world.die(world.ports)
    world.another()
    assert world.fresh()
    assert _ways(world)[-1] == "rewrite"


def test_rows_that_others_add_to_a_half_done_refresh_stay_where_deletes_are_ignored() -> None:
    world = World(row(1), row(2), layout="vnode", vnodes=1, deletes="ignore")
    world.run()
    world.become(row(1, "b"), row(2, "b"))
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    other = {**world.lake.rows(TARGET)[0], **row(3, "theirs")}
    world.lake.append(TARGET, [other])
    assert world.another().resumed
    assert {(r["k"], r["v"]) for r in world.lake.rows(TARGET)} == {(1, "b"), (2, "b"), (3, "theirs")}


@pytest.mark.parametrize("options", [{"deletes": "ignore"}, {"layout": "vnode", "vnodes": 2}])
def test_a_table_that_may_not_be_written_anew_is_not(options: dict[str, Any]) -> None:
    world = much_changed(**options)
    world.run()
    assert "rewrite" not in _ways(world)


def test_chunks_that_are_in_are_skipped_and_the_run_keeps_its_pins() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=3):
        assert _killed(world)
    world.die(world.ports)
    world.lake.append(INPUT, [row(50)])
    result = world.another()
    assert (result.resumed, result.chunks.skipped) == (True, 2)
    assert row(50) not in world.target()
    assert world.another().rows.inserted == 1
    assert world.fresh()


@pytest.mark.parametrize("mode", ["full", "incremental"])
@pytest.mark.parametrize("point", ["open session", "commit memory://staging", "answer memory://staging"])
def test_whoever_goes_on_with_a_load_may_accept_a_mass_delete(mode: str, point: str) -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5, mode=mode)
    world.run()
    world.become(row(0), row(1))
    with at(world.lake, point):
        assert _killed(world)
    world.die(world.ports)
    result = world.another(FORCE)
    assert world.fresh()
    assert (result.resumed, result.rows.deleted) == (True, 4)


def test_force_is_stored_before_it_is_used_and_stays_with_the_run() -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5)
    world.run()
    world.become(row(0), row(1))
    for request in (ONE, FORCE):
        owner = world.process()
        with at(world.lake, "commit memory://staging"), pytest.raises(Killed):
            Refreshes(owner).run(NAME, request)
        world.die(owner)
    assert world.another().rows.deleted == 4
    assert world.fresh()


def test_a_load_that_nobody_forces_is_refused_its_mass_delete_by_whoever_goes_on() -> None:
    world = World(*[row(i) for i in range(6)], max_delete_ratio=0.5)
    world.run()
    world.become(row(0), row(1))
    with at(world.lake, "commit memory://staging"):
        assert _killed(world)
    world.die(world.ports)
    with pytest.raises(Refused, match="delete 4 of 6 rows"):
        world.another()
    assert len(world.target()) == 6


def test_a_statement_whose_outcome_is_unknown_is_read_from_the_log() -> None:
    world = changed()
    with at(world.lake, "answer /gold", disconnected):
        assert world.run().state is Outcome.SUCCEEDED
    assert world.fresh()


def test_a_statement_that_failed_leaves_the_run_for_anyone_at_once() -> None:
    world = changed()
    with at(world.lake, "commit /gold", disconnected), pytest.raises(Retry):
        world.run()
    assert world.interrupted.lease.owner is None
    assert world.another().resumed
    assert world.fresh()


@pytest.mark.parametrize("point", ["open session", "begin /gold"])
def test_a_take_over_that_fails_leaves_the_run_for_anyone_at_once(point: str) -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert _killed(world)
    world.die(world.ports)
    with at(world.lake, point, disconnected), pytest.raises(Retry):
        world.another()
    assert world.interrupted.lease.owner is None
    assert world.another().chunks.skipped == 1
    assert world.fresh()


def test_a_live_owner_is_not_disturbed() -> None:
    world = changed()
    with at(world.lake, "begin /gold"):
        assert _killed(world)
    with pytest.raises(Refused, match="is being refreshed by process") as raised:
        world.another()
    assert raised.value.code == "already_running"
    skipped = world.another(Request(if_running=IfRunning.SKIP))
    assert (skipped.state, "in progress" in (skipped.reason or "")) == (Outcome.NOTHING_TO_DO, True)


def test_an_owner_without_signs_of_life_is_waited_for_and_then_replaced() -> None:
    world = changed()
    with at(world.lake, "begin /gold"):
        assert _killed(world)
    later = world.process()
    later.clock.sleep(STALE_AFTER.total_seconds() - 10)
    assert Refreshes(later).run(NAME, ONE).resumed
    assert world.fresh()


def test_an_owner_who_was_replaced_has_lost_whatever_spark_tells_him() -> None:
    world = changed()
    rival: list[RunResult] = []

    def overtaken(what: str) -> None:
        if what.startswith("commit memory://staging") and not rival:
            world.lake.step = lambda _what: None
            world.die(world.ports)
            rival.append(world.another())
            raise disconnected()

    world.lake.step = overtaken
    with pytest.raises(Lost):
        world.run()
    assert world.fresh()


@pytest.mark.parametrize("stage", ["merge", "publish"])
@pytest.mark.parametrize("made_anew", [False, True])
def test_a_target_that_is_no_longer_there_is_neither_written_nor_made_again(stage: str, made_anew: bool) -> None:
    world = changed(**LIVE)
    columns = world.lake.table(TARGET).newest.columns

    class Taking(Silent):
        def stage(self, name: str, rows: int | None = None, chunks: int | None = None) -> None:
            if name == stage:
                world.lake.remove(TARGET)
                if made_anew:
                    world.lake.create(TARGET, columns)

    with pytest.raises(Failed) as caught:
        Refreshes(replace(world.ports, watch=Taking())).run(NAME, ONE)

    assert caught.value.code == "target_replaced"
    assert (TARGET in world.lake.tables) is made_anew
    if made_anew:
        with pytest.raises(Refused, match="belongs to somebody else"):
            world.run()
        assert len(world.commits) == 1
    else:
        world.run()
        assert world.fresh()


@pytest.mark.parametrize("last", [False, True], ids=["chunk", "seal"])
def test_a_statement_that_went_into_a_table_that_has_just_come_is_told_as_such(last: bool) -> None:
    begun: list[str] = []
    undisturbed, world = changed(**LIVE), changed(**LIVE)
    with at(undisturbed.lake, f"begin {TARGET}", nth=0) as steps:
        undisturbed.run()
    nth = steps.count(f"begin {TARGET}") if last else 1

    def replacing(what: str) -> None:
        if what != f"begin {TARGET}":
            return
        begun.append(what)
        if len(begun) == nth:
            columns = world.lake.table(TARGET).newest.columns
            world.lake.remove(TARGET)
            world.lake.create(TARGET, columns)

    world.lake.step = replacing
    with pytest.raises(Failed) as caught:
        world.run()
    assert caught.value.code == "target_replaced"
    assert len(begun) == nth
    with pytest.raises(Refused, match="belongs to somebody else"):
        world.run()


def test_an_owner_who_was_replaced_ends_and_writes_nothing() -> None:
    world = changed(**LIVE)
    rival: list[RunResult] = []

    def overtaken(what: str) -> None:
        if what.startswith("commit /gold") and not rival:
            world.lake.step = lambda _what: None
            world.die(world.ports)
            rival.append(world.another())

    world.lake.step = overtaken
    with pytest.raises(Lost):
        world.run()
    assert rival[0].resumed
    assert world.fresh()
    assert [h.outcome for h in world.refreshes.history(NAME)] == [Outcome.SUCCEEDED, Outcome.SUCCEEDED]


def test_of_two_who_start_at_once_one_wins() -> None:
    world = changed()
    late: list[RunResult] = []
    world.lake.step = _then(world, "read markers", lambda: late.append(world.another()))
    assert world.run().state is Outcome.NOTHING_TO_DO
    assert late[0].state is Outcome.SUCCEEDED
    assert world.fresh()


def test_a_run_is_abandoned_when_its_definition_changed() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert _killed(world)
    world.die(world.ports)
    world.refreshes.register(definition(**LIVE, vnodes=16))
    result = world.another()
    assert not result.resumed
    assert world.fresh()
    newest, abandoned = world.refreshes.history(NAME)[:2]
    assert (newest.outcome, abandoned.outcome) == (Outcome.SUCCEEDED, Outcome.ABANDONED)
    assert "definition was changed" in (abandoned.reason or "")


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda w: w.lake.remove(TARGET), "no longer the table"),
        (lambda w: setattr(w.lake.table(INPUT), "oldest", 9), "cannot be read any more"),
        (lambda w: setattr(w.lake.table(TARGET), "oldest", len(w.commits)), "no longer reaches back"),
    ],
    ids=["target dropped", "input gone", "log cleaned"],
)
def test_a_run_that_cannot_go_on_is_abandoned_with_its_reason(happens: Any, reason: str) -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=3):
        assert _killed(world)
    world.die(world.ports)
    happens(world)
    world.lake.append(INPUT, [row(60)])
    if "cannot be read" in reason:
        world.lake.table(INPUT).oldest = len(world.lake.table(INPUT).versions) - 1
    world.another()
    assert world.fresh()
    assert reason in (world.refreshes.history(NAME)[1].reason or "")


def test_a_restart_gives_an_interrupted_run_up() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert _killed(world)
    world.die(world.ports)
    assert not world.another(RESTART).resumed
    assert world.fresh()


@pytest.mark.parametrize("options", [{}, LIVE], ids=["by its chunk", "by a seal"])
@pytest.mark.parametrize("nth", range(1, 30))
def test_a_sealed_run_is_published_and_never_given_up(nth: int, options: dict[str, Any]) -> None:
    world = changed(**options)
    before = len(world.commits)
    with at(world.lake, "read", nth=nth):
        _killed(world)
    sealed = any(seal.version >= before for seal in seals(world.commits, world.lake.table(TARGET).table_id))
    unpublished = world.record.run is not None
    world.die(world.ports)
    world.another(RESTART)
    assert world.fresh()
    if sealed and unpublished:
        assert Outcome.ABANDONED not in {h.outcome for h in world.refreshes.history(NAME)}


@pytest.mark.parametrize("options", [LIVE, BY_VNODE], ids=["plain", "vnodes"])
@pytest.mark.parametrize(
    "meddles",
    [
        lambda w: w.lake.append(TARGET, [w.lake.rows(TARGET)[0] | {"k": 99}]),
        lambda w: w.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"}),
        lambda w: w.lake.rewrite(TARGET, lambda _row: None),
        lambda w: w.lake.restore(TARGET, 0),
    ],
    ids=["insert", "update", "delete", "restore"],
)
@pytest.mark.parametrize("before", ["begin /gold", "read newest /gold"])
def test_what_others_write_during_a_run_is_put_right_before_it_is_published(
    options: dict[str, Any], meddles: Any, before: str
) -> None:
    world = changed(**options)
    world.lake.step = _then(world, before, lambda: meddles(world))
    result = world.run()
    assert world.fresh()
    assert result.published_version is not None
    assert world.target(result.published_version) == world.source()


@pytest.mark.parametrize("before", ["begin /gold", "answer /gold"])
def test_a_chunk_seals_its_run_only_if_nobody_came_before_it(before: str) -> None:
    world = changed()
    world.lake.step = _then(world, before, lambda: world.lake.append(TARGET, [row(99)]))
    result = world.run()
    assert result.chunks.done == (1 if before == "answer /gold" else 2)
    assert result.published_version is not None
    assert world.target(result.published_version) == world.source()
    world.run()
    assert world.fresh()


def test_others_who_never_stop_writing_make_the_run_fail_loudly_and_be_kept() -> None:
    world = changed(**LIVE)
    keys = iter(range(100, 999))

    def step(what: str) -> None:
        if what.startswith("begin /gold"):
            world.lake.append(TARGET, [row(next(keys))])

    world.lake.step = step
    with pytest.raises(Failed, match="others kept writing"):
        world.run()
    world.lake.step = lambda _what: None
    assert world.another().resumed
    assert world.fresh()


def test_a_key_that_others_inserted_twice_is_never_published() -> None:
    world = changed()
    published = world.record.published
    world.lake.append(TARGET, [row(0)])
    with pytest.raises(Failed, match="more than once in the target"):
        world.run()
    assert world.record.published == published


@pytest.mark.parametrize("point", POINTS[:-1])
def test_units_side_by_side_are_resumed_after_a_failure(point: str) -> None:
    world = changed(**BY_VNODE)
    with at(world.lake, point, disconnected), suppress(Retry):  # an answer that is lost is read from the log
        world.run(Request(workers=3))
    world.another(Request(workers=3))
    assert world.fresh()


def _ways(world: World) -> list[str]:
    notes = (read_note(commit.note) for commit in world.commits)
    return [note.way for note in notes if note and note.way]


def _killed(world: World) -> bool:
    try:
        world.run()
    except Killed:
        return True
    return False


def _then(world: World, what: str, act: Any) -> Any:
    """A listener that acts once, before the first step that begins with these words."""

    def step(name: str) -> None:
        if name.startswith(what):
            world.lake.step = lambda _what: None
            act()

    return step


@pytest.mark.parametrize("code", ["input_missing", "input_unreadable"])
def test_a_run_that_cannot_read_its_inputs_any_more_is_given_up_by_the_next(code: str) -> None:
    world = World(row(1))
    world.run()
    world.become(row(1, "b"))
    gone = Failed(code, "x has no files any more", left="as it was", next="restore them")
    with at(world.lake, "begin /gold", lambda: gone), pytest.raises(Failed, match="no files any more"):
        world.another()
    kept = world.interrupted.run_id
    result = world.another()
    assert result.run_id != kept and not result.resumed
    assert next(e.reason for e in world.refreshes.history(NAME) if e.run_id == kept) == (
        "the pinned input cannot be read any more: x has no files any more"
    )
    assert world.fresh()


@pytest.mark.parametrize("code", ["disk_full", "storage_denied"])
def test_a_load_that_meets_trouble_of_its_surroundings_goes_on_when_that_is_mended(code: str) -> None:
    world = World(*[row(i) for i in range(20)], chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    world.run()
    world.lake.append(INPUT, [row(i) for i in range(20, 30)])
    trouble = Failed(code, "no room, or no right", left="as it was", next="mend it")
    with at(world.lake, "commit memory://staging", lambda: trouble, nth=2), pytest.raises(Failed, match="no room"):
        world.run()
    kept = world.interrupted
    assert kept.lease.owner is None
    with at(world.lake, "no such step") as steps:
        result = world.another()
    assert result.resumed and result.run_id == kept.run_id
    assert world.fresh()
    assert sum(step.startswith("commit memory://") and step.endswith("/rows") for step in steps) == 1
