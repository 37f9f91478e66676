"""Queries with the columns and rows that Spark gives for them, and queries that the in-memory engine must refuse.

They are in catalogue.yaml. `tests/engine/test_sql_in_memory.py` compares the rows with those of Spark.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.testing.spark_sql.evaluation import Relation, Relations

Rows = list[tuple[Any, ...]]


def _columns(text: str) -> Columns:
    """Columns from "name type, name type"."""
    return tuple(Column(name=name, type=kind) for name, kind in (part.split(" ") for part in text.split(", ")))


ORDERS = Relation(
    _columns("id int, person int, amount decimal(10,2), qty bigint, day date, at timestamp, note string, rate double"),
    (
        (1, 1, Decimal("12.50"), 3, date(2024, 1, 31), datetime(2024, 1, 31, 23, 59, 59, tzinfo=UTC), "a", 2.5),
        (2, 1, Decimal("-0.45"), 1, date(2024, 2, 29), datetime(2024, 2, 29, 10, 30, tzinfo=UTC), None, -2.5),
        (3, 2, Decimal("7.00"), 2, date(2023, 12, 31), datetime(2024, 1, 1, 0, 0, 0, 500000, UTC), "a b", 0.125),
        (4, None, Decimal("99999.95"), 1, date(2024, 3, 3), datetime(2024, 3, 4, 8, 0, tzinfo=UTC), " B", 1.005),
        (5, 9, None, None, None, None, "c", None),
    ),
)
PEOPLE = Relation(
    _columns("id int, name string, city string"),
    ((1, "Ada", "Oslo"), (2, "Bo", None), (3, "Cleo", "Oslo")),
)
INPUTS: Relations = (("orders", ORDERS), ("people", PEOPLE))


def _value(written: Any, kind: str) -> Any:
    if written is None:
        return None
    if kind.startswith("decimal"):
        return Decimal(written)
    if kind == "date":
        return date.fromisoformat(written)
    return datetime.fromisoformat(written) if kind.startswith("timestamp") else written


def _rows(entry: dict[str, Any]) -> Rows:
    kinds = [c.type for c in _columns(entry["columns"])]
    return [tuple(map(_value, row, kinds)) for row in entry["rows"]]


_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
ANSWERED = [(str(e["name"]), str(e["query"]), str(e["columns"]), _rows(e)) for e in _READ["answered"]]
REFUSED = [(str(e["name"]), str(e["query"])) for e in _READ["refused"]]
