"""Others write the target, restore it, or lose the control tables, around and in the middle of a refresh."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Outcome
from tests.crash import points
from tests.crash.checks import check_all
from tests.crash.conftest import SetUp
from tests.crash.directions import (
    FIRST,
    SECOND,
    Directions,
    Victim,
    another_finishes,
    by_others,
    dies,
    ended,
    hold,
    lost_control,
    reached,
    registered,
    release,
    start,
)
from tests.crash.lake import NAME, PLAIN, VNODE, Kind
from tests.crash.points import AFTER, BEFORE
from tests.crash.stage import play

KINDS = pytest.mark.parametrize("kind", [PLAIN, VNODE], ids=str)
WRITES = ("UPDATE {target} SET amount = -1 WHERE id % 50 = 1", "DELETE FROM {target} WHERE id % 50 = 2")
RESTORE = "RESTORE TABLE {target} TO VERSION AS OF {published}"


def meanwhile(*statements: str) -> Directions:
    """Others run statements while a client stands between two chunks."""
    return (
        *(hold("pause", points.progress(AFTER)), start(FIRST), reached("pause")),
        *(by_others(*statements), release("pause"), ended(FIRST)),
    )


@pytest.mark.slow
@KINDS
def test_what_others_write_during_a_refresh_is_repaired_before_it_ends(stage_of: SetUp, kind: Kind) -> None:
    stage = stage_of(kind)
    play(stage, *meanwhile(*WRITES))
    check_all(stage)


@pytest.mark.slow
def test_what_others_write_into_an_interrupted_refresh_is_repaired(stage_of: SetUp) -> None:
    stage = stage_of(VNODE)
    play(stage, *dies(Victim.CLIENT, points.chunk(2, AFTER)), by_others(*WRITES), *another_finishes())
    check_all(stage)


@pytest.mark.slow
def test_chunks_that_a_restore_took_back_are_applied_again(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(stage, *dies(Victim.CLIENT, points.chunk(3, BEFORE)), by_others(RESTORE), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@KINDS
def test_a_target_restored_between_two_runs_is_refreshed_although_no_input_changed(stage_of: SetUp, kind: Kind) -> None:
    stage = stage_of(kind)
    published = stage.refreshes().show(NAME).published_version
    back = f"RESTORE TABLE {{target}} TO VERSION AS OF {published}"
    play(stage, *another_finishes(), by_others(back), *another_finishes())
    check_all(stage)


@pytest.mark.slow
@KINDS
def test_a_lost_control_root_costs_no_more_than_a_comparison(stage_of: SetUp, kind: Kind) -> None:
    stage = stage_of(kind)
    play(
        stage,
        *dies(Victim.CLIENT, points.chunk(2, BEFORE)),
        lost_control(),
        registered(adopt=True),
        *another_finishes(),
    )
    check_all(stage)


@pytest.mark.slow
def test_a_second_starter_is_refused_while_the_first_is_at_work(stage_of: SetUp) -> None:
    stage = stage_of(PLAIN)
    play(
        stage,
        *(hold("pause", points.progress(AFTER)), start(FIRST), reached("pause")),
        *(start(SECOND), ended(SECOND, 3, "already_running")),
        *(release("pause"), ended(FIRST)),
    )
    check_all(stage)


@pytest.mark.slow
@KINDS
def test_a_definition_changed_while_its_run_was_interrupted_starts_over(stage_of: SetUp, kind: Kind) -> None:
    stage = stage_of(kind)
    play(
        stage,
        *dies(Victim.CLIENT, points.chunk(2, AFTER)),
        registered(query="SELECT id, grp, name, amount FROM items WHERE NOT grp = 3"),
        *another_finishes(),
    )
    abandoned = stage.refreshes().history(NAME)[1]
    assert (abandoned.outcome, abandoned.reason) == (
        Outcome.ABANDONED,
        "the definition was changed while the run was interrupted",
    )
    check_all(stage)
