"""An aggregate that follows its input by touched values is killed on its way; another client finishes it."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.lifecycle import Event
from tests.crash import points
from tests.crash.checks import check_all
from tests.crash.conftest import SetUp
from tests.crash.directions import Victim, another_finishes, by_others, changed_input, dies
from tests.crash.holds import Point
from tests.crash.lake import KEYED
from tests.crash.points import AFTER, BEFORE
from tests.crash.stage import Stage, play

POINTS = {
    "touched values staged": points.staged(BEFORE),
    "compared": points.staged(AFTER),
    "before it is frozen": points.stored(Event.FREEZE, BEFORE),
    "frozen": points.stored(Event.FREEZE, AFTER),
    "a chunk applied": points.chunk(1, AFTER),
    "sealed": points.seal(AFTER),
}


def trusted(stage_of: SetUp) -> Stage:
    """A stage on which the first incremental refresh was verified, and whose input has changed since."""
    stage = stage_of(KEYED)
    play(stage, *another_finishes(), changed_input())
    return stage


@pytest.mark.slow
def test_a_trusted_refresh_that_dies_twice_is_finished_whatever_others_did(stage_of: SetUp) -> None:
    stage = trusted(stage_of)
    play(
        stage,
        *dies(Victim.CLIENT, points.staged(AFTER)),
        by_others("OPTIMIZE {target}"),
        *dies(Victim.CLIENT, points.chunk(1, AFTER)),
        by_others("DELETE FROM {target} WHERE id % 50 = 2"),
        *another_finishes(),
    )
    check_all(stage)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [Victim.CLIENT, Victim.SERVER])
@pytest.mark.parametrize("at", POINTS.values(), ids=POINTS)
def test_a_trusted_refresh_is_resumed_incrementally(stage_of: SetUp, victim: Victim, at: Point) -> None:
    stage = trusted(stage_of)
    play(stage, *dies(victim, at), *another_finishes())
    assert stage.last and stage.last.result["mode"] == "incremental"
    check_all(stage)
