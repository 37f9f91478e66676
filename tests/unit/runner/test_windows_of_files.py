"""Incremental runs over a list of files: new files are applied; when files were deleted, everything is compared."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from airflow_refresh_provider.core.run.results import Outcome, Rows
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from tests.unit.runner.faults import POINTS, Killed, at
from tests.unit.runner.world import INPUT, NAME, World, row

FILES = {"inputs": {"x": {"path": INPUT, "format": "parquet"}}}
LIVE = {"visibility": "live", "chunking": {"one_commit_up_to": 2, "chunk_rows": 2}}


def world(**changes: object) -> World:
    """A world of two files that were refreshed from."""
    made = World(row(1), row(2), mode="incremental", **FILES | changes)
    made.lake.append(INPUT, [row(3)])
    made.run()
    return made


def killed(of: World, point: str, nth: int) -> None:
    with at(of.lake, point, nth=nth), suppress(Killed):
        of.run()
    of.die(of.ports)


def test_only_new_files_are_read() -> None:
    made = world()
    made.lake.append(INPUT, [row(4)])
    made.lake.append(INPUT, [row(5)])
    result = made.run()
    assert made.fresh()
    assert (result.mode, result.mode_reason, result.rows) == (
        "incremental",
        "changes of x in new files",
        Rows(inserted=2, unchanged=3),
    )
    assert result.windows["x"][1] == result.input_versions["x"] == made.record.published.pins["x"].digest  # type: ignore[union-attr]
    assert made.run().outcome is Outcome.NOTHING_TO_DO


def test_windows_of_files_touch() -> None:
    made = world()
    ends = []
    for k in (4, 5):
        made.lake.append(INPUT, [row(k)])
        ends.append(made.run().windows["x"])
    assert ends[0][1] == ends[1][0]


def test_a_file_that_was_deleted_or_changed_has_everything_compared() -> None:
    made = world()
    made.lake.rewrite(INPUT, lambda r: r | {"v": "b"} if r["k"] == 3 else r)
    result = made.run()
    assert (result.mode, made.fresh()) == ("full", True)
    assert "were changed or deleted" in (result.mode_reason or "")
    made.lake.append(INPUT, [row(6)])
    assert made.run().mode == "incremental"


def test_a_key_that_an_old_file_has_too_is_found() -> None:
    made = world()
    made.lake.append(INPUT, [row(4), row(1, "again")])
    with pytest.raises(Failed, match="more than one row for 1 key"):
        made.run()
    assert made.record.run is None
    made.lake.rewrite(INPUT, lambda r: None if r["v"] == "again" else r)
    made.run()
    assert made.fresh()


@pytest.mark.parametrize("options", [{}, LIVE])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_run_killed_anywhere_resumes_with_its_own_list(options: dict[str, object], point: str, nth: int) -> None:
    made = world(**options)
    made.lake.append(INPUT, [row(k) for k in range(4, 9)])
    killed(made, point, nth)
    made.lake.append(INPUT, [row(20)])
    made.another()
    made.another()
    assert made.fresh()
    made.lake.append(INPUT, [row(21)])
    assert made.another().mode == "incremental"
    assert made.fresh()


def test_the_lag_of_files_is_their_age_and_they_never_expire() -> None:
    made = world(refresh={"interval": "15 minutes"})
    made.lake.append(INPUT, [row(4)])
    version = made.lake.table(INPUT).newest.commit.version
    made.lake.times[INPUT, version] = BEGINNING + timedelta(minutes=5)
    made.ports.clock.sleep(900)
    (found,) = made.refreshes.freshness(NAME, why=True)
    assert (found.lag_seconds, found.inputs[0].kept_until) == (600, None)


def test_a_new_file_with_an_old_time_counts_from_the_last_refresh() -> None:
    made = world()
    made.lake.append(INPUT, [row(4)])
    made.lake.times[INPUT, made.lake.table(INPUT).newest.commit.version] = BEGINNING - timedelta(days=90)
    clock = made.ports.clock
    clock.sleep(60)
    [fresh] = made.refreshes.freshness(NAME)
    assert fresh.lag_seconds == 60
