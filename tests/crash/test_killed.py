"""Client, server or both are killed at a chosen point; another client goes on and finishes."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.lifecycle import Event
from tests.crash import points
from tests.crash.checks import check_all, commits
from tests.crash.conftest import SetUp
from tests.crash.directions import (
    FIRST,
    Victim,
    another_finishes,
    asked_to_stop,
    by_others,
    changed_input,
    dies,
    ended,
    hold,
    left_behind,
    reached,
    release,
    start,
)
from tests.crash.holds import Point
from tests.crash.lake import CLUSTERED, PLAIN, SMALL, VNODE, WHOLE, Kind, in_turn
from tests.crash.points import AFTER, BEFORE
from tests.crash.stage import Stage, play

IN_SPARK = {
    "before the change set is staged": points.staged(BEFORE),
    "after the change set is staged": points.staged(AFTER),
    "before the first chunk": points.chunk(1, BEFORE),
    "before a later chunk": points.chunk(2, BEFORE),
    "after a chunk": points.chunk(2, AFTER),
}
IN_CONTROL = {
    "before the start is stored": points.stored(Event.START, BEFORE),
    "after the start is stored": points.stored(Event.START, AFTER),
    "after the target is ready": points.stored(Event.PREPARE, AFTER),
    "before staging is frozen": points.stored(Event.FREEZE, BEFORE),
    "after staging is frozen": points.stored(Event.FREEZE, AFTER),
    "after units are claimed": points.stored(Event.CLAIM, AFTER),
    "between commit and progress": points.progress(BEFORE),
    "after progress": points.progress(AFTER),
    "before the seal": points.seal(BEFORE),
    "after the seal": points.seal(AFTER),
    "before publishing is stored": points.stored(Event.PUBLISH, BEFORE),
    "after publishing is stored": points.stored(Event.PUBLISH, AFTER),
    "before staging is dropped": points.staging_dropped(BEFORE),
    "after staging is dropped": points.staging_dropped(AFTER),
}


def test_a_refresh_that_dies_on_its_way_is_finished_whatever_others_did(stage_of: SetUp) -> None:
    """The one scenario of `make test`: client and server die, others write, a statement of the dead client lives on."""
    stage = stage_of(PLAIN)
    play(
        stage,
        *dies(Victim.CLIENT, points.staged(AFTER)),
        by_others("DELETE FROM {target} WHERE id % 50 = 2"),
        *dies(Victim.SERVER, points.chunk(1, AFTER)),
        *left_behind(points.chunk(2, BEFORE)),
    )
    check_all(stage)


@pytest.mark.slow
def test_a_refresh_that_dies_again_and_again_near_its_end_is_finished(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(
        stage,
        *dies(Victim.CLIENT, points.chunk(1, AFTER)),
        *dies(Victim.CLIENT, points.fence(AFTER)),
        *dies(Victim.CLIENT, points.seal(BEFORE)),
        *dies(Victim.CLIENT, points.stored(Event.PUBLISH, BEFORE)),
        *another_finishes(),
    )
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "at"), in_turn(*IN_SPARK.values()), ids=IN_SPARK)
def test_a_client_is_killed_while_spark_is_at_work(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(stage, *dies(Victim.CLIENT, at), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "at"), in_turn(*IN_CONTROL.values()), ids=IN_CONTROL)
def test_a_client_is_killed_between_two_statements(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(stage, *dies(Victim.CLIENT, at), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "at"), in_turn(*IN_SPARK.values(), first=VNODE), ids=IN_SPARK)
def test_a_server_is_killed(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(stage, *dies(Victim.SERVER, at), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("victim", [Victim.CLIENT, Victim.SERVER])
def test_client_or_server_is_killed_while_spark_seals(stage_of: SetUp, victim: Victim, when: str) -> None:
    stage = stage_of(CLUSTERED)
    play(stage, *dies(victim, points.seal_of_spark(when)), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "at"), in_turn(points.seal(AFTER), points.chunk(2, BEFORE)), ids=["after the seal", "before a chunk"]
)
def test_client_and_server_are_killed(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(stage, *dies(Victim.BOTH, at), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "at"), in_turn(points.stored(Event.FREEZE, BEFORE), points.progress(AFTER)), ids=["load", "merge"]
)
def test_a_client_that_is_asked_to_stop_leaves_the_run_to_the_next(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(
        stage,
        *(hold("point", at), start(FIRST), reached("point"), asked_to_stop(FIRST), release("point")),
        ended(FIRST, 130, "interrupted"),
        *another_finishes(),
    )
    check_all(stage)


def finished_after_its_only_chunk(stage: Stage, victim: Victim, at: Point) -> None:
    """Dies at a point behind the commit of its only chunk; nothing is left but to say what that commit has sealed."""
    play(stage, *dies(victim, at))
    landed = commits(stage.lake.target)[-1][0]
    play(stage, *another_finishes())
    assert stage.last and stage.last.result["published_version"] == landed
    check_all(stage)


@pytest.mark.slow
def test_a_chunk_that_has_sealed_its_run_is_not_applied_again(stage_of: SetUp) -> None:
    finished_after_its_only_chunk(stage_of(WHOLE), Victim.CLIENT, points.chunk(1, AFTER))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "at"),
    [
        (Victim.SERVER, points.chunk(1, AFTER)),
        (Victim.BOTH, points.chunk(1, AFTER)),
        (Victim.CLIENT, points.progress(BEFORE)),
        (Victim.CLIENT, points.stored(Event.PUBLISH, BEFORE)),
    ],
    ids=["server, after the commit", "both, after the commit", "before progress", "before publishing is stored"],
)
def test_the_only_chunk_is_not_applied_again_after_a_death(stage_of: SetUp, victim: Victim, at: Point) -> None:
    finished_after_its_only_chunk(stage_of(WHOLE), victim, at)


@pytest.mark.slow
@pytest.mark.parametrize("victim", Victim)
def test_a_refresh_cut_before_its_only_chunk_is_finished(stage_of: SetUp, victim: Victim) -> None:
    stage = stage_of(WHOLE)
    play(stage, *dies(victim, points.chunk(1, BEFORE)), *another_finishes())
    check_all(stage)


@pytest.mark.slow
def test_a_small_table_that_was_rewritten_is_not_rewritten_again(stage_of: SetUp) -> None:
    finished_after_its_only_chunk(stage_of(SMALL), Victim.CLIENT, points.small_table(AFTER))


@pytest.mark.slow
def test_a_refresh_cut_before_its_small_table_is_rewritten_is_finished(stage_of: SetUp) -> None:
    stage = stage_of(SMALL)
    play(stage, *dies(Victim.CLIENT, points.small_table(BEFORE)), *another_finishes())
    check_all(stage)


@pytest.mark.slow
def test_a_first_load_in_one_commit_is_not_loaded_again(new_stage: SetUp) -> None:
    stage = new_stage(WHOLE)
    play(stage, *dies(Victim.CLIENT, points.chunk(1, AFTER)), *another_finishes())
    assert stage.last and stage.last.result["chunks"] == {"done": 1, "skipped": 1}
    check_all(stage)


@pytest.mark.slow
def test_a_first_load_in_splits_goes_on_where_it_was_cut(new_stage: SetUp) -> None:
    stage = new_stage(VNODE)
    play(
        stage,
        *dies(Victim.CLIENT, points.target_made(AFTER)),
        *dies(Victim.BOTH, points.chunk(1, AFTER)),
        *dies(Victim.CLIENT, points.chunk(2, BEFORE)),
        *another_finishes(),
    )
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "victim"), in_turn(*Victim), ids=list(Victim))
def test_rows_staged_in_splits_are_not_staged_again(stage_of: SetUp, kind: Kind, victim: Victim) -> None:
    stage = stage_of(kind)
    play(stage, changed_input(files=4), *dies(victim, points.staged(AFTER)), *another_finishes())
    check_all(stage)
