"""What the end of a run adds to the measured refreshes of its definition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.plan.load_seconds import LoadMoments, LoadSeconds

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def moments(**given: float) -> LoadMoments:
    at = {name: BEGAN + timedelta(seconds=seconds) for name, seconds in given.items()}
    return LoadMoments(**({"began": BEGAN, "computed": at["changes"], "ended": at["changes"]} | at))


@pytest.mark.parametrize(
    ("given", "followed", "whole", "expected"),
    [
        ({"changes": 5, "touched": 2}, True, False, {"finding": 2, "following": 3}),
        ({"changes": 5}, True, False, {"finding": 5, "following": 0}),
        ({"changes": 0, "computed": 9, "ended": 9}, False, True, {"whole": 9}),
        ({"changes": 2, "touched": 2, "computed": 9, "ended": 9}, False, True, {"whole": 7, "other": 2}),
        (
            {"changes": 5, "touched": 2, "computed": 9, "ended": 12},
            True,
            True,
            {"finding": 2, "following": 3, "whole": 4, "other": 3},
        ),
    ],
    ids=["touched values", "no touched values", "full", "turned", "verified"],
)
def test_each_part_of_a_load_is_counted_for_its_way(
    given: dict[str, float], followed: bool, whole: bool, expected: dict[str, Any]
) -> None:
    found = moments(**given).seconds(followed=followed, whole=whole)
    assert found == LoadSeconds(**expected)
    assert found.total == max(given.values())
