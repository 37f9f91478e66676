"""Values that other programs trip over: not a number, zeros with signs, long texts, wide rows, far moments."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


def test_not_a_number_is_one_key_and_so_is_zero_of_either_sign(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} USING delta AS SELECT * FROM VALUES "
        "(float('NaN'), double('NaN'), double('NaN')), (0.0F, -0.0D, -0.0D), "
        "(float('Infinity'), 1.0D, double('-Infinity')) AS t(f, d, v)"
    )
    case.define("SELECT f, d, v FROM src", keys=["f", "d"])
    assert case.refresh().rows == Rows(inserted=3)

    case.do("UPDATE {src} SET v = CASE WHEN isnan(f) THEN 5.0D ELSE 0.0D END WHERE isnan(f) OR d = 0")
    assert case.refresh().rows == Rows(updated=1, unchanged=2)

    case.do("DELETE FROM {src} WHERE isnan(f)")
    assert case.refresh().rows == Rows(deleted=1, unchanged=2)


@pytest.mark.slow
def test_one_value_among_twelve_hundred_columns_is_found(case: Case) -> None:
    columns = ", ".join(f"id * {number} AS measure_{number:04}" for number in range(1200))
    case.do(
        "CREATE TABLE {src} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') "
        f"AS SELECT id, {columns} FROM range(300)"
    )
    case.define("SELECT * FROM src", mode="incremental")
    case.refresh()

    case.do("UPDATE {src} SET measure_0700 = -1, measure_1199 = NULL WHERE id = 7")
    assert case.refresh().rows == Rows(updated=1, unchanged=299)


@pytest.mark.slow
def test_a_blank_at_the_end_of_a_long_text_is_a_change(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} USING delta AS SELECT id, repeat(concat('x', id, '\\u0000é😀'), 400000) AS txt, "
        "CAST(repeat('ab', 1000000) AS BINARY) AS bin FROM range(4)"
    )
    case.define("SELECT id, txt, bin FROM src")
    case.refresh()

    case.do("UPDATE {src} SET txt = concat(txt, ' ') WHERE id = 3")
    assert case.refresh().rows == Rows(updated=1, unchanged=3)
    assert case.found("SELECT id FROM target WHERE txt LIKE '% '") == {(3,)}


def test_moments_with_and_without_zones_arrive_exactly_and_partition_by_their_days(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, ltz TIMESTAMP, ntz TIMESTAMP_NTZ) USING delta PARTITIONED BY (ntz) "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} VALUES "
        "(1, TIMESTAMP'2024-03-31 01:30:00 Europe/Berlin', TIMESTAMP_NTZ'2024-03-31 02:30:00'), "
        "(2, TIMESTAMP'2024-10-27 02:30:00 Europe/Berlin', TIMESTAMP_NTZ'2024-10-27 02:30:00.000001'), "
        "(3, NULL, NULL)",
    )
    case.define(
        "SELECT id, CAST(ltz AS TIMESTAMP_NTZ) AS wall, ntz, CAST(ntz AS DATE) AS day FROM src", partition_by=["day"]
    )
    case.refresh()

    case.do("UPDATE {src} SET ntz = ntz + INTERVAL 1 DAY WHERE id = 2")
    assert case.refresh().rows == Rows(updated=1, unchanged=2)


def test_samples_of_differences_are_json_for_any_reader(case: Case) -> None:
    columns = "(id INT, d DOUBLE, f FLOAT, b BINARY, ts TIMESTAMP, dec DECIMAL(38, 18)) USING delta"
    case.do(
        f"CREATE TABLE {{src}} {columns}",
        "INSERT INTO {src} VALUES "
        "(1, double('NaN'), float('Infinity'), X'FF00', TIMESTAMP'0001-01-01 00:00:00', 1.5), "
        "(2, -0.0D, float('-Infinity'), X'', NULL, NULL), "
        "(3, 1.0D, float('NaN'), NULL, TIMESTAMP'9999-12-31 23:59:59.999999', 99999999999999999999.999999999999999999)",
        f"CREATE TABLE {{target}} {columns}",
        "INSERT INTO {target} VALUES (1, 5.0D, float('NaN'), X'00', NULL, 0), "
        "(4, double('NaN'), float('NaN'), X'00', NULL, 0)",
    )
    case.define("SELECT id, d, f, b, ts, dec FROM src", adopt=True)
    found = case.compare()

    shown = json.loads(found.model_dump_json(), parse_constant=_not_json)
    assert found.rows == Rows(inserted=2, updated=1, deleted=1)
    samples = {sample["desired"]["id"]: sample["desired"] for sample in shown["samples"] if sample["desired"]}
    assert (samples[1]["d"], samples[1]["f"], samples[1]["b"]) == ("NaN", "Infinity", "ff00")
    assert samples[3]["dec"] == "99999999999999999999.999999999999999999"


def _not_json(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")
