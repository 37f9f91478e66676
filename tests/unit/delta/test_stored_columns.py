"""The control tables' columns: those of the models they hold, and those the docs describe."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from airflow_refresh_provider.core.log.note import Note
from airflow_refresh_provider.delta.control.stored_columns import (
    CONTROL_TABLES,
    EVENTS,
    FORMAT,
    PROGRESS,
    Kind,
    table_of,
)
from airflow_refresh_provider.ports.control import EventRow, ProgressRow

PAGE = (Path(__file__).parents[3] / "docs" / "stored_columns.md").read_text(encoding="utf-8")


def _described(section: str) -> list[tuple[str, ...]]:
    text = re.split(rf"^## {section}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [(row[0].strip("`"), *row[1:]) for row in rows]


@pytest.mark.parametrize("table", CONTROL_TABLES)
def test_the_docs_describe_every_column(table: str) -> None:
    columns = CONTROL_TABLES[table]
    assert _described(table) == [
        (c.name, f"{c.kind.value}, or none" if c.nullable else c.kind.value, c.meaning) for c in columns
    ]


def test_the_docs_describe_every_field_of_a_note_and_the_format() -> None:
    assert [row[0] for row in _described("Notes in a target's log")] == list(Note.model_fields)
    assert f"Format {FORMAT}." in PAGE


@pytest.mark.parametrize(("model", "columns"), [(ProgressRow, PROGRESS), (EventRow, EVENTS)])
def test_an_index_has_a_column_for_every_field_of_its_rows(model: type[BaseModel], columns: tuple) -> None:
    assert [c.name for c in columns] == list(model.model_fields)
    for column in columns:
        optional = type(None) in getattr(model.model_fields[column.name].annotation, "__args__", ())
        assert optional == column.nullable, column.name


def test_times_keep_their_microseconds_far_from_now() -> None:
    moments = [datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(2299, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]
    (at,) = [c for c in EVENTS if c.kind is Kind.TIME]
    assert table_of((at,), [{"at": m} for m in moments])["at"].to_pylist() == moments
