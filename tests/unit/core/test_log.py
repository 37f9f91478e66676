"""What commits mean for a run."""

from typing import Any

import pytest

from airflow_refresh_provider.core.log.commits import (
    Commit,
    Foreign,
    Origin,
    Standing,
    chunk_reached,
    chunks_done,
    foreign,
    origin,
    standing,
)
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id

SLOT = slot_app_id("t", 0)


def commit(version: int = 1, marker: Marker | None = None, app_id: str = SLOT, **facts: Any) -> Commit:
    txns = {app_id: marker.version} if marker else {}
    given: dict[str, Any] = {"version": version, "operation": "WRITE", "txns": txns}
    return Commit(**(given | facts))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, Standing.OLDER),
        (Marker(2, 9).version, Standing.OLDER),
        (Marker(3, 1, fence=True).version, Standing.OLDER),
        (Marker(3, 1).version, Standing.MINE),
        (Marker(3, 2).version, Standing.YOUNGER),
        (Marker(4, 0, fence=True).version, Standing.YOUNGER),
    ],
)
def test_the_newest_marker_is_older_mine_or_younger(found: int | None, expected: Standing) -> None:
    assert standing(found, Marker(3, 1)) is expected


def test_only_chunks_of_the_runs_own_generations_are_done() -> None:
    commits = [commit(1, Marker(2, 7)), commit(2, Marker(3, 1)), commit(3, Marker(4, 2, fence=True))]
    assert chunks_done(commits, "t", 0, (3, 4)) == 2
    assert chunks_done(commits, "t", 0, (3,)) == 1
    assert chunks_done(commits, "t", 1, (3, 4)) == 0
    assert chunks_done(commits, "other", 0, (3, 4)) == 0


def test_chunks_before_a_fence_that_stands_too_low_are_found_in_the_commits() -> None:
    assert chunks_done([commit(1, Marker(3, 2)), commit(2, Marker(4, 1, fence=True))], "t", 0, (3, 4)) == 2


def test_the_newest_marker_gives_the_chunk_reached_when_it_is_of_the_run() -> None:
    assert chunk_reached(Marker(3, 5).version, (3,)) == 5
    assert chunk_reached(Marker(3, 5).version, (4,)) == 0
    assert chunk_reached(None, (3,)) == 0


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"marker": Marker(3, 1)}, Origin.OURS),
        ({"marker": Marker(2, 1)}, Origin.FOREIGN),
        ({"marker": Marker(3, 1), "app_id": "other/s0"}, Origin.FOREIGN),
        ({}, Origin.FOREIGN),
        ({"data_change": False, "operation": "OPTIMIZE"}, Origin.NEUTRAL),
        ({"marker": Marker(2, 1, fence=True), "data_change": False}, Origin.NEUTRAL),
        ({"data_change": False, "reshaped": True}, Origin.FOREIGN),
        ({"operation": "RESTORE", "data_change": False}, Origin.FOREIGN),
        ({"operation": "RESTORE", "marker": Marker(3, 1)}, Origin.FOREIGN),
    ],
)
def test_a_commit_is_ours_neutral_or_foreign(facts: dict[str, Any], expected: Origin) -> None:
    assert origin(commit(**facts), "t", (3,)) is expected


def test_foreign_commits_name_the_vnodes_they_touched_unless_unknown() -> None:
    ours = commit(1, Marker(3, 1), vnodes=(9,))
    two = [ours, commit(2, vnodes=(4, 1)), commit(3, vnodes=(1,))]
    assert foreign(two, "t", (3,)) == Foreign(versions=(2, 3), vnodes=(1, 4))
    assert foreign([*two, commit(4)], "t", (3,)) == Foreign(versions=(2, 3, 4), vnodes=None)
    assert foreign([*two, commit(4, vnodes=(), reshaped=True)], "t", (3,)).vnodes is None
    assert not foreign([ours], "t", (3,)).found
