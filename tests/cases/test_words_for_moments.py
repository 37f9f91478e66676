"""Words that Spark reads as dates, compared with columns that are text."""

from __future__ import annotations

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case

_QUERY = "SELECT id, CASE WHEN period = 'today' THEN 1 ELSE 0 END AS current FROM src WHERE status IN ('now', 'later')"


def test_such_words_are_text_beside_a_column_of_text(case: Case) -> None:
    case.rows("src", id=[1, 2, 3], period=["today", "week", "today"], status=["now", "later", "never"])
    case.define(_QUERY)

    assert case.refresh().rows == Rows(inserted=2)
    assert case.found("SELECT * FROM target") == {(1, 1), (2, 0)}


def test_such_words_beside_a_date_are_refused(case: Case) -> None:
    case.do("CREATE TABLE {src} USING delta AS SELECT 1 AS id, DATE'2024-01-01' AS day")
    case.define("SELECT id FROM src WHERE day < 'today'")

    case.refused("nondeterministic_query", "'today'", "current_date()")
