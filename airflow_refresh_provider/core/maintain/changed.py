"""Touched values from changed rows that are known, where each value is one of a row's own columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.maintain.plan import Route

Values = tuple[Any, ...]
_COLUMN = re.compile(r"`h0`\.`((?:[^`]|``)+)`")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def own_columns(route: Route, used: Sequence[str]) -> tuple[str, ...] | None:
    """Those of the columns used of a changed row that are the values of the anchors.

    None where the row is joined, or one of the values is computed.
    """
    found = [_COLUMN.fullmatch(value) for value in route.values]
    if route.hops or None in found:
        return None
    columns = tuple(match[1].replace("``", "`") for match in found if match)
    return columns if {c.lower() for c in columns} <= {name.lower() for name in used} else None


def net(removed: Iterable[Values], added: Iterable[Values]) -> list[Values]:
    """The rows that are not as often among the removed as among the added ones, each once."""
    counted = Counter(added)
    counted.subtract(removed)
    return [row for row, count in counted.items() if count]


def held(values: Iterable[Values], anchors: Columns) -> bool:
    """Whether the anchors hold all of these values as they are."""
    return all(_holds(anchor.type, value) for row in values for anchor, value in zip(anchors, row, strict=True))


def _holds(type_name: str, value: Any) -> bool:
    if value is None:
        return True
    if type_name in _BITS:
        most = 1 << (_BITS[type_name] - 1)
        return type(value) is int and -most <= value < most
    return type(value) is {"string": str, "boolean": bool}.get(type_name)


def chosen(rows: Sequence[Values], columns: Sequence[str], wanted: Sequence[str]) -> set[Values]:
    """Some columns of rows, by their names."""
    names = [name.lower() for name in columns]
    places = [names.index(name.lower()) for name in wanted]
    return {tuple(row[place] for place in places) for row in rows}
