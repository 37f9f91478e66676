"""Which lines of a query have changed."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_refresh_provider.core.run.query_change import QueryChange
from airflow_refresh_provider.page.query_diff import DiffLine, diff

AT = datetime(2024, 1, 1, tzinfo=UTC)


def test_changed_lines_have_a_sign_and_some_lines_around_them() -> None:
    before = "SELECT k,\n  v\nFROM x\nWHERE a\n  AND b\n  AND c"
    found = diff(QueryChange(at=AT, before=before, after=before.replace("  v", "  w")))
    assert found == [
        DiffLine("left_out", "…"),
        DiffLine("same", " SELECT k,"),
        DiffLine("removed", "-  v"),
        DiffLine("added", "+  w"),
        DiffLine("same", " FROM x"),
        DiffLine("same", " WHERE a"),
    ]


def test_lines_that_look_like_signs_are_lines() -> None:
    found = diff(QueryChange(at=AT, before="-- one\n@x", after="++ two\n@x"))
    assert [(line.kind, line.text) for line in found[1:]] == [
        ("removed", "--- one"),
        ("added", "+++ two"),
        ("same", " @x"),
    ]
