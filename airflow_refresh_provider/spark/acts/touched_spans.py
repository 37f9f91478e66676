"""How many touched values there are, and the spans in which they lie: read from what was staged of them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.maintain.spans import MOST_SPANS, Spans, number_of, spans_of

_MOST_SORTED = 1_000_000
"""Up to this many values gaps are looked for, by one task."""


def measured(values: DataFrame, anchors: Columns) -> tuple[int, dict[int, Spans]]:
    """The number of values, and the spans of each anchor by its number; gaps are looked for in the first alone."""
    numbers = {n: number for n, a in enumerate(anchors) if (number := number_of(f"k{n}", a.type)) is not None}
    ends = (
        part
        for n, number in numbers.items()
        for part in (f"min({number}) AS low{n}", f"max({number}) AS high{n}", f"count_if(k{n} IS NULL) AS nulls{n}")
    )
    found = values.selectExpr("count(*) AS values", *ends).collect()[0].asDict()
    spans: dict[int, Spans] = {}
    for n, number in numbers.items():
        low, high = found[f"low{n}"], found[f"high{n}"]
        if low is None:
            continue
        sorts = n == min(numbers) and low < high and found["values"] <= _MOST_SORTED
        gaps = _gaps(values.selectExpr(f"{number} AS v")) if sorts else []
        if one := spans_of(anchors[n].type, low, high, gaps, nulls=found[f"nulls{n}"] > 0):
            spans[n] = one
    return found["values"], spans


def _gaps(numbers: DataFrame) -> list[tuple[int, int]]:
    """The largest gaps between neighbours; as DOUBLE, for the difference of two BIGINT may be none."""
    pairs = numbers.where("v IS NOT NULL").selectExpr("v", "lag(v) OVER (ORDER BY v) AS before")
    wide = pairs.selectExpr("before", "v", "CAST(v AS DOUBLE) - CAST(before AS DOUBLE) AS gap").where("gap > 1")
    return [(row.before, row.v) for row in wide.orderBy("gap", ascending=False).limit(MOST_SPANS - 1).collect()]
