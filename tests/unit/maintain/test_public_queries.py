"""The script that refreshes queries of others: what it reads of a folder, and that it finds what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.maintain.analysis import maintenance
from tests.unit.maintain import keyed
from tests.unit.maintain.public_queries import queries_in, refreshed, report_of

FILE = """
-- orders; by customer
SELECT o.customer, count(*) AS n FROM {{ ref('orders') }} o WHERE o.kind = 'a;b' GROUP BY o.customer;
CREATE TABLE t (k INT);
SELECT max(x) AS m FROM {{ source('raw', 'orders') }};
SELECT k FROM t TABLESAMPLE (5 ROWS)
"""


@pytest.fixture(autouse=True)
def tables_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script adds tables, some with names that other tests have."""
    monkeypatch.setattr(keyed, "COLUMNS", dict(keyed.COLUMNS))


def test_the_queries_of_a_folder_are_refreshed(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "orders.sql").write_text(FILE)
    (tmp_path / "templated.sql").write_text("SELECT {% if x %} 1 {% endif %} AS a FROM t")
    queries = list(queries_in(tmp_path))
    assert [query.split()[-1] for query in queries] == ["o.customer", "orders", "ROWS)"]
    report = report_of(queries)
    assert report.counts == {
        "refreshed rightly": 1,
        "analysed, nothing followed": 1,
        "refused nondeterministic_query": 1,
    }
    assert report.problems == []


def test_a_wrong_analysis_is_found() -> None:
    query, tables = "SELECT g, count(*) AS n FROM a GROUP BY g", {"a": {"g": "int"}}
    plan = maintenance(query, tables, ())
    assert refreshed(query, plan, tables) == "refreshed rightly"
    wrong = plan.model_copy(update={"routes": tuple(r.model_copy(update={"values": ("0",)}) for r in plan.routes)})
    assert refreshed(query, wrong, tables).startswith("difference: seed")
