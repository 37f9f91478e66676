"""How many touched values there are and how large, whether NULL is among them, and the spans in which they lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.maintain.spans import MOST_SPANS, Spans, number_of, spans_of
from airflow_refresh_provider.ports.staging import StagedValues

_MOST_SORTED = 1_000_000
"""Up to this many values gaps are looked for, by one task."""
_FEW = 20_000
_WORD = 8
_WORDS = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz"}
)
"""Types whose values take one word in a row of Spark; others are about as long as their text, after a word or two."""


def measures(anchors: Columns) -> list[Column]:
    """What is observed of the values while they are staged."""
    nulls = (f"count_if(k{n} IS NULL) AS nulls{n}" for n in range(len(anchors)))
    ends = (
        part
        for n, number in _numbers(anchors).items()
        for part in (f"min({number}) AS low{n}", f"max({number}) AS high{n}")
    )
    size = " + ".join(_size(f"k{n}", anchor.type) for n, anchor in enumerate(anchors))
    return [F.expr(part) for part in ("count(*) AS values", f"sum({size}) AS bytes", *nulls, *ends)]


def _size(name: str, type_name: str) -> str:
    if type_name in _WORDS:
        return str(_WORD)
    return f"coalesce(octet_length(CAST({name} AS STRING)), 0) + {2 * _WORD}"


def size_of(value: object, type_name: str) -> int:
    """The size of a value that is a text, or of a type of one word, by the same rule."""
    return _WORD if type_name in _WORDS else len(str(value or "").encode()) + 2 * _WORD


def with_nulls(anchors: Columns, seen: Mapping[str, int]) -> frozenset[int]:
    """The numbers of the anchors that NULL is a touched value of."""
    return frozenset(n for n in range(len(anchors)) if seen.get(f"nulls{n}"))


@dataclass(frozen=True)
class Found:
    """The values that were staged, their folder and what reads it, and what was observed of them.

    `rows` are the values where the client has them.
    """

    values: DataFrame
    folder: str
    files: StagedValues
    seen: Mapping[str, int]
    rows: Collection[tuple[Any, ...]] | None = None


def spans(staged: Found, anchors: Columns) -> dict[int, Spans]:
    """The spans of each anchor by its number; gaps are looked for in the first alone."""
    numbers, seen = _numbers(anchors), staged.seen
    found: dict[int, Spans] = {}
    for n, number in numbers.items():
        low, high = seen.get(f"low{n}"), seen.get(f"high{n}")
        if low is None or high is None:
            continue
        sorts = n == min(numbers) and low < high and seen["values"] <= _MOST_SORTED
        gaps = _gaps(staged, n, number) if sorts else []
        if one := spans_of(anchors[n].type, low, high, gaps, nulls=bool(seen[f"nulls{n}"])):
            found[n] = one
    return found


def _numbers(anchors: Columns) -> dict[int, str]:
    return {n: number for n, a in enumerate(anchors) if (number := number_of(f"k{n}", a.type)) is not None}


def _gaps(staged: Found, anchor: int, number: str) -> list[tuple[int, int]]:
    """The largest gaps between neighbours. A few values are read and sorted here: it saves three jobs."""
    if staged.rows is not None:
        found: list[Any] | None = [row[anchor] for row in staged.rows]
    else:
        rows = staged.files.values(staged.folder, (f"k{anchor}",), _FEW)
        found = None if rows is None else [value for (value,) in rows]
    if found is None:
        return _gaps_by_spark(staged.values.selectExpr(f"{number} AS v"))
    values = sorted(value for value in found if value is not None)
    gaps = [pair for pair in pairwise(values) if pair[1] - pair[0] > 1]
    return sorted(gaps, key=lambda pair: pair[1] - pair[0], reverse=True)[: MOST_SPANS - 1]


def _gaps_by_spark(numbers: DataFrame) -> list[tuple[int, int]]:
    """The same; as DOUBLE, for the difference of two BIGINT may be none."""
    pairs = numbers.where("v IS NOT NULL").selectExpr("v", "lag(v) OVER (ORDER BY v) AS before")
    wide = pairs.selectExpr("before", "v", "CAST(v AS DOUBLE) - CAST(before AS DOUBLE) AS gap").where("gap > 1")
    return [(row.before, row.v) for row in wide.orderBy("gap", ascending=False).limit(MOST_SPANS - 1).collect()]
