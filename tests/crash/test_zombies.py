"""Owners and statements that were thought dead come back to life after another owner has finished."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import BEAT_EVERY
from tests.crash import points
from tests.crash.checks import check_all
from tests.crash.conftest import SetUp
from tests.crash.directions import (
    FIRST,
    SECOND,
    changed_input,
    ended,
    freeze,
    hold,
    kill,
    left_behind,
    over,
    quiet,
    reached,
    recovered,
    release,
    start,
    stopped_and_replaced,
    thaw,
    withdraw,
)
from tests.crash.holds import Point
from tests.crash.lake import (
    CLUSTERED,
    COPIED,
    PLAIN,
    REPLACED,
    REWRITTEN,
    SMALL,
    UPSERTED,
    VNODE,
    WHOLE,
    WHOLE_VNODES,
    Kind,
    in_turn,
)
from tests.crash.points import AFTER, BEFORE
from tests.crash.stage import play

MOMENTS = {
    "while staging": points.staged(BEFORE),
    "before staging is frozen": points.stored(Event.FREEZE, BEFORE),
    "before a chunk": points.chunk(2, BEFORE),
    "after a chunk": points.chunk(2, AFTER),
    "between two chunks": points.progress(AFTER),
    "before the seal": points.seal(BEFORE),
    "after the seal": points.seal(AFTER),
    "before publishing is stored": points.stored(Event.PUBLISH, BEFORE),
    "before staging is dropped": points.staging_dropped(BEFORE),
}
IN_ONE_COMMIT = [
    (WHOLE, Way.KEYED_REPLACE),
    (UPSERTED, Way.REPLACE_ON),
    (WHOLE_VNODES, Way.REPLACE_VNODES),
    (REWRITTEN, Way.REWRITE),
    (REPLACED, Way.REPLACE_TABLE),
]
ALL_CHANGED = [changed_input()] * 3
"""Together with the change before: some ways are only taken where every row has changed."""
KINDS = pytest.mark.parametrize("kind", [PLAIN, VNODE], ids=str)


@pytest.mark.slow
def test_a_client_that_was_stopped_between_two_chunks_changes_nothing_when_it_wakes_up(stage_of: SetUp) -> None:
    stage = stage_of(VNODE)
    play(stage, *stopped_and_replaced(points.progress(AFTER)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "at"), in_turn(*MOMENTS.values()), ids=MOMENTS)
def test_a_client_that_was_stopped_changes_nothing_when_it_wakes_up(stage_of: SetUp, kind: Kind, at: Point) -> None:
    stage = stage_of(kind)
    play(stage, *stopped_and_replaced(at), recovered())
    check_all(stage)


@pytest.mark.slow
def test_a_client_that_gives_no_sign_of_life_is_taken_over_when_its_lease_is_stale(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(
        stage,
        *(hold("point", points.progress(AFTER)), start(FIRST), reached("point"), freeze(FIRST)),
        # An owner whose last sign of life is younger than this is not waited for.
        *(quiet(1.5 * BEAT_EVERY.total_seconds()), start(SECOND), ended(SECOND)),
        *(withdraw(), thaw(FIRST), ended(FIRST, 1, "lost_lease")),
    )
    check_all(stage)


@pytest.mark.slow
def test_a_statement_held_in_its_commit_does_not_land_after_another_owner_has_finished(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(stage, *left_behind(points.chunk(2, BEFORE)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [(VNODE, Way.KEYED_REPLACE), (COPIED, Way.MERGE)], ids=str)
def test_no_way_of_applying_lands_after_another_owner_has_finished(stage_of: SetUp, kind: Kind, way: Way) -> None:
    stage = stage_of(kind)
    play(stage, *left_behind(points.chunk(2, BEFORE, way)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), IN_ONE_COMMIT, ids=str)
def test_no_way_of_applying_all_at_once_lands_after_another_owner_has_finished(
    stage_of: SetUp, kind: Kind, way: Way
) -> None:
    stage = stage_of(kind)
    play(stage, *ALL_CHANGED, *left_behind(points.chunk(1, BEFORE, way)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), [(WHOLE, 1), (PLAIN, 2), (VNODE, 2)], ids=str)
def test_no_chunk_of_a_first_load_lands_after_another_owner_has_finished(
    new_stage: SetUp, kind: Kind, number: int
) -> None:
    stage = new_stage(kind)
    play(stage, *left_behind(points.chunk(number, BEFORE, Way.APPEND)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [(WHOLE, Way.KEYED_REPLACE), (REWRITTEN, Way.REWRITE)], ids=str)
def test_a_client_that_was_stopped_in_the_only_commit_changes_nothing_when_it_wakes_up(
    stage_of: SetUp, kind: Kind, way: Way
) -> None:
    stage = stage_of(kind)
    play(stage, *ALL_CHANGED, *stopped_and_replaced(points.chunk(1, BEFORE, way)))
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_client_that_was_stopped_as_it_rewrote_a_small_table_changes_nothing_when_it_wakes_up(
    stage_of: SetUp, when: str
) -> None:
    stage = stage_of(SMALL)
    play(stage, *stopped_and_replaced(points.small_table(when)))
    check_all(stage)


@pytest.mark.slow
def test_a_seal_held_in_its_commit_does_not_land_after_another_owner_has_finished(stage_of: SetUp) -> None:
    stage = stage_of(CLUSTERED)
    play(stage, *left_behind(points.seal_of_spark(BEFORE)))
    check_all(stage)


@pytest.mark.slow
def test_a_statement_held_before_its_transaction_does_nothing_after_another_owner_has_finished(
    stage_of: SetUp,
) -> None:
    stage = stage_of(COPIED)
    play(stage, *left_behind(points.merge_begins()))
    check_all(stage)


@pytest.mark.slow
def test_staging_that_a_late_statement_made_again_is_removed(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(stage, *left_behind(points.staged(BEFORE)), recovered())
    check_all(stage)


@pytest.mark.slow
@KINDS
def test_a_chunk_that_lands_while_it_is_being_fenced_off_is_counted(stage_of: SetUp, kind: Kind) -> None:
    stage = stage_of(kind)
    play(
        stage,
        *(hold("chunk", points.chunk(1, BEFORE)), start(FIRST), reached("chunk"), kill(FIRST)),
        *(hold("fence", points.fence(BEFORE)), start(SECOND), reached("fence")),
        *(release("chunk"), over("chunk"), release("fence"), ended(SECOND)),
    )
    check_all(stage)
