"""Values in columns that a target is partitioned by: what the names of folders make of them is what is compared."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from tests.engine.acts import Lake, source

TEXTS = {"p": ("''", "'__HIVE_DEFAULT_PARTITION__'", "'a/b=c'", "' x '", "'ü%20'", "'NULL'", "NULL")}
OTHERS = {
    "moment": ("TIMESTAMP'2024-02-29 23:59:59.123456'", "TIMESTAMP'0001-01-01 00:00:00'", "NULL"),
    "number": ("CAST('NaN' AS DOUBLE)", "-0.0D", "1e300D", "CAST('-Infinity' AS DOUBLE)", "NULL"),
    "decimal": ("1.10BD", "-0.01BD", "NULL"),
    "date": ("DATE'2024-02-29'", "DATE'0001-01-01'", "NULL"),
    "flag": ("true", "false", "NULL"),
    "local": ("TIMESTAMP_NTZ'2024-02-29 23:59:59.123456'", "NULL"),
    "small": ("CAST(-128 AS TINYINT)", "NULL"),
}


def _rows(columns: dict[str, tuple[str, ...]]) -> str:
    """As many rows as the longest column has values; the others repeat."""
    values = zip(*(islice(cycle(some), max(map(len, columns.values()))) for some in columns.values()), strict=True)
    rows = ", ".join(f"({k}, {', '.join(row)}, 'a')" for k, row in enumerate(values))
    return f"SELECT * FROM VALUES {rows} t(k, {', '.join(columns)}, v)"


@pytest.mark.parametrize(
    ("columns", "way"),
    [
        (TEXTS, Way.REPLACE_ON),
        pytest.param(TEXTS, Way.MERGE, marks=pytest.mark.slow),
        pytest.param(OTHERS, Way.REPLACE_ON, marks=pytest.mark.slow),
    ],
    ids=["texts-replace_on", "texts-merge", "others-replace_on"],
)
def test_a_target_equals_its_query_once_it_was_written(
    lake: Lake, columns: dict[str, tuple[str, ...]], way: Way
) -> None:
    first = source(_rows(columns), "k")
    then = source(f"SELECT * EXCEPT (v), CASE WHEN k < 1 THEN 'b' ELSE v END AS v FROM ({_rows(columns)})", "k")
    target = lake.target(first, partition_by=tuple(columns))
    lake.load(target, first)

    assert lake.compare(target, first).total == ChangeCounts()
    lake.apply(target, then, lake.compare(target, then), way)
    assert lake.compare(target, then).total == ChangeCounts()
    assert lake.compare(target, first).total == ChangeCounts(updated=1)


@pytest.mark.parametrize("text", ["''", "'__HIVE_DEFAULT_PARTITION__'"])
def test_a_key_that_the_name_of_a_folder_cannot_hold_is_none(lake: Lake, text: str) -> None:
    parted = source(_rows({"p": (text, "'a'")}), "p", "k")
    target = lake.target(parted, partition_by=("p",))

    report = lake.session.check_keys(parted, target)
    assert (report.null_keys, report.null_examples) == (1, ("p=NULL, k=0",))
