"""A definition is dropped while a client works on it: the client ends with that error, and writes nothing more."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Outcome
from tests.crash import points
from tests.crash.checks import check_all, commits
from tests.crash.conftest import SetUp
from tests.crash.directions import (
    FIRST,
    another_finishes,
    dropped,
    ended,
    freeze,
    hold,
    over,
    reached,
    registered,
    release,
    start,
    thaw,
)
from tests.crash.holds import Point
from tests.crash.lake import NAME, PLAIN, VNODE, Kind
from tests.crash.points import AFTER, BEFORE
from tests.crash.stage import Stage, play


def dropped_at(stage: Stage, at: Point) -> None:
    """A client comes to the point, the definition is dropped, then the client may go on."""
    play(stage, hold("point", at), start(FIRST), reached("point"), freeze(FIRST), dropped())
    before = [version for version, _ in commits(stage.lake.target)]
    assert not stage.refreshes().statuses()
    [newest, *_] = stage.refreshes().history(NAME)
    assert (newest.outcome, newest.reason) == (Outcome.ABANDONED, "the definition was dropped")
    play(stage, release("point"), *([over("point")] if at.in_spark else []), thaw(FIRST), ended(FIRST, 1, "dropped"))
    assert [version for version, _ in commits(stage.lake.target)] == before
    play(stage, registered(), *another_finishes())
    check_all(stage)


@pytest.mark.slow
def test_a_chunk_held_in_its_commit_does_not_land_after_the_drop(stage_of: SetUp) -> None:
    dropped_at(stage_of(PLAIN), points.chunk(2, BEFORE))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "at"),
    [
        (VNODE, points.chunk(2, BEFORE)),
        (PLAIN, points.staged(BEFORE)),
        (VNODE, points.progress(AFTER)),
        (PLAIN, points.seal(BEFORE)),
    ],
    ids=str,
)
def test_a_client_that_is_dropped_at_any_moment_writes_nothing_more(stage_of: SetUp, kind: Kind, at: Point) -> None:
    dropped_at(stage_of(kind), at)
