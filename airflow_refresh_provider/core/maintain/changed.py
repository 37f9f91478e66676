"""Touched values from changed rows that are known: those that count, and the values of some of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from airflow_refresh_provider.core.definition.columns import INTEGER_BITS, Columns

Values = tuple[Any, ...]


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
    if type_name in INTEGER_BITS:
        most = 1 << (INTEGER_BITS[type_name] - 1)
        return type(value) is int and -most <= value < most
    return type(value) is {"string": str, "boolean": bool}.get(type_name)


def chosen(rows: Sequence[Values], columns: Sequence[str], wanted: Sequence[str]) -> set[Values]:
    """Some columns of rows, by their names."""
    names = [name.lower() for name in columns]
    places = [names.index(name.lower()) for name in wanted]
    return {tuple(row[place] for place in places) for row in rows}
