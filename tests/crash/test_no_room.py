"""The disk is full where Spark writes, for real to Spark: the refresh says so, and goes on when there is room again."""

from __future__ import annotations

import pytest

from tests.crash import points
from tests.crash.checks import check_all, commits
from tests.crash.conftest import SetUp
from tests.crash.directions import FIRST, another_finishes, ended, no_room, room_again, start
from tests.crash.lake import Kind, in_turn
from tests.crash.stage import play


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "place"), in_turn(points.STAGING, points.TARGET), ids=["of staging", "of the target"])
def test_a_refresh_that_meets_a_full_disk_goes_on_when_there_is_room(stage_of: SetUp, kind: Kind, place: str) -> None:
    stage = stage_of(kind)
    before = commits(stage.lake.target)
    play(stage, no_room(place), start(FIRST), ended(FIRST, 1, "disk_full"))
    assert commits(stage.lake.target) == before
    play(stage, room_again(), *another_finishes())
    check_all(stage)
