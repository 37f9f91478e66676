"""Words such as 'today': plain text where Spark compares text with them, refused where it would read a date."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.query.query import analyse
from airflow_refresh_provider.errors import Invalid
from tests.engine.acts import Lake, source

ROWS = "SELECT 'today' AS period, 'now' AS status, DATE'2026-01-01' AS day, TIMESTAMP'2026-01-01 00:00:00' AS at"


def columns(lake: Lake, query: str) -> list[str]:
    pin = lake.input(ROWS)
    words = analyse(query, ["x"]).date_words
    return [c.name for c in lake.session.describe(source(query, "n", pins={"x": pin}, date_words=words))]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CASE WHEN period = 'today' THEN 1 ELSE 0 END AS n FROM x WHERE status IN ('now', 'later')",
        "SELECT CASE period WHEN 'today' THEN 1 END AS n FROM x WHERE status BETWEEN 'now' AND 'z'",
        "SELECT coalesce(period, 'today') AS n FROM x WHERE nullif(status, 'now') <=> 'tomorrow'",
        "SELECT if(day > current_date(), 'today', period) AS n FROM x",
    ],
)
def test_words_beside_text_are_text(lake: Lake, query: str) -> None:
    assert columns(lake, query) == ["n"]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT 1 AS n FROM x WHERE period = 'today' AND day = 'today'", "column 55"),
        ("SELECT 1 AS n FROM x WHERE day IN ('now', 'later')", "column 36"),
        ("SELECT 1 AS n FROM x WHERE at >= 'yesterday'", "column 34"),
        ("SELECT CASE day WHEN 'today' THEN 1 END AS n FROM x", "column 22"),
        ("SELECT coalesce(day, 'tomorrow') AS n FROM x", "column 22"),
    ],
)
def test_words_beside_dates_are_refused(lake: Lake, query: str, place: str) -> None:
    with pytest.raises(Invalid) as raised:
        columns(lake, query)
    assert raised.value.code == "nondeterministic_query" and place in raised.value.message
