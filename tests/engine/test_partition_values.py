"""Values in columns that a target is partitioned by: what the names of folders make of them is what is compared."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan import ChangeCounts, Way
from tests.engine.acts import Lake, source

TEXTS = ("''", "'__HIVE_DEFAULT_PARTITION__'", "'a/b=c'", "' x '", "'ü%20'", "'NULL'", "NULL")
MOMENTS = ("TIMESTAMP'2024-02-29 23:59:59.123456'", "TIMESTAMP'0001-01-01 00:00:00'", "NULL")
NUMBERS = ("CAST('NaN' AS DOUBLE)", "-0.0D", "1e300D", "CAST('-Infinity' AS DOUBLE)", "NULL")
OTHERS = {
    "decimal": ("1.10BD", "-0.01BD", "NULL"),
    "date": ("DATE'2024-02-29'", "DATE'0001-01-01'", "NULL"),
    "boolean": ("true", "false", "NULL"),
    "without zone": ("TIMESTAMP_NTZ'2024-02-29 23:59:59.123456'", "NULL"),
    "small": ("CAST(-128 AS TINYINT)", "NULL"),
}
VALUES = {"text": TEXTS, "moment": MOMENTS, "number": NUMBERS, **OTHERS}


def _rows(values: tuple[str, ...]) -> str:
    rows = ", ".join(f"({k}, {value}, 'a')" for k, value in enumerate(values))
    return f"SELECT * FROM VALUES {rows} t(k, p, v)"


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("way", [Way.REPLACE_ON, Way.MERGE])
def test_a_target_equals_its_query_once_it_was_written(lake: Lake, values: tuple[str, ...], way: Way) -> None:
    first = source(_rows(values), "k")
    then = source(f"SELECT k, p, CASE WHEN k < 1 THEN 'b' ELSE v END AS v FROM ({_rows(values)})", "k")
    target = lake.target(first, partition_by=("p",))
    lake.load(target, first)

    assert lake.compare(target, first).total == ChangeCounts()
    lake.apply(target, then, lake.compare(target, then), way)
    assert lake.compare(target, then).total == ChangeCounts()
    assert lake.compare(target, first).total == ChangeCounts(updated=1)


@pytest.mark.parametrize("text", ["''", "'__HIVE_DEFAULT_PARTITION__'"])
def test_a_key_that_the_name_of_a_folder_cannot_hold_is_none(lake: Lake, text: str) -> None:
    parted = source(_rows((text, "'a'")), "p", "k")
    target = lake.target(parted, partition_by=("p",))

    report = lake.session.check_keys(parted, target)
    assert (report.null_keys, report.null_examples) == (1, ("p=NULL, k=0",))
