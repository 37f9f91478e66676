"""Moments and dates that are shown are those of UTC, whatever the client's zone, also where Python has none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_refresh_provider.ports.tasks import Sample
from tests.engine.acts import Lake, source

NOON, LAST, FIRST, FAR = "2026-01-01 12:00:00.5", "9999-12-31 23:59:59", "0001-01-01 00:00:00", "+10000-01-01 00:00:00"
ISO = {moment: moment.replace(" ", "T") for moment in (NOON, LAST, FIRST, FAR)}


@pytest.fixture(params=[pytest.param("Asia/Tokyo", marks=pytest.mark.slow), "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """This process is in another zone than UTC."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("moment", ISO)
def test_keys_that_are_moments_are_shown_in_utc(lake: Lake, moment: str) -> None:
    repeated = (
        f"SELECT TIMESTAMP'{moment}' AS t, CAST(TIMESTAMP'{moment}' AS DATE) AS d, TIMESTAMP_NTZ'{moment}' AS n, "
        f"named_struct('t', TIMESTAMP'{moment}', 'b', X'0aff') AS s, X'0aff' AS b, true AS o FROM range(2)"
    )

    found = lake.keys(source(repeated, "t", "d", "n", "s", "b", "o"))

    day = moment.split()[0]
    assert found.duplicate_examples == (f"t={moment}, d={day}, n={moment}, s={{{moment}, 0aff}}, b=0aff, o=true",)


@pytest.mark.usefixtures("zone")
def test_samples_show_moments_in_utc_wherever_they_are_in_a_value(lake: Lake) -> None:
    cases = ", ".join(f"TIMESTAMP'{moment}'" for moment in ISO)
    query = (
        f"SELECT k, t, CAST(t AS DATE) AS d, CAST(t AS TIMESTAMP_NTZ) AS n, to_variant_object(array(t)) AS v, "
        "named_struct('a b', array(named_struct('t', t), NULL), 'n', CAST(NULL AS STRUCT<t: TIMESTAMP>)) AS s, "
        "map(t, map('x', array(t)), TIMESTAMP'2000-01-01', NULL) AS m, CAST(NULL AS ARRAY<DATE>) AS e "
        f"FROM (SELECT posexplode(array({cases})) AS (k, t))"
    )
    wanted = source(query, "k")
    target = lake.target(wanted)
    lake.load(target, source(f"SELECT * FROM ({query}) WHERE k = 0", "k"))
    lake.load(target, source(f"SELECT * FROM ({query.replace('k, t,', 'k + 9 AS k, t,')}) WHERE k > 9", "k"))
    base = lake.log.newest(target.location)
    compared = lake.compare(target, wanted)

    found = lake.session.samples(compared.changes, target, ("k",), base, 10)

    def row(k: int, shift: int = 0) -> dict[str, Any]:
        iso = list(ISO.values())[k]
        return {
            "k": k + shift,
            "t": f"{iso}Z",
            "d": iso.split("T")[0],
            "n": iso,
            "v": f'["{list(ISO)[k]}+00:00"]',
            "s": {"a b": [{"t": f"{iso}Z"}, None], "n": None},
            "m": {f"{iso}Z": {"x": [f"{iso}Z"]}, "2000-01-01T00:00:00Z": None},
            "e": None,
        }

    assert sorted(found, key=lambda s: (s.op, str(s.desired))) == sorted(
        [Sample(op="D", desired=None, found=row(k, 9)) for k in (1, 2, 3)]
        + [Sample(op="I", desired=row(k), found=None) for k in (1, 2, 3)],
        key=lambda s: (s.op, str(s.desired)),
    )
