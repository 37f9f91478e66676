"""Columns whose last digits may be others each time a query is run: followed by their names, never too few."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.query.float_sums import FUNCTIONS
from airflow_refresh_provider.core.query.query import analyse
from airflow_refresh_provider.core.query.spark_functions import AGGREGATE

_ALL = None
"""Any column may hold a sum."""


def _columns(query: str) -> tuple[str, ...] | None:
    """The columns that may hold a sum. The query must have one."""
    sums = analyse(query, ("x",)).float_sums
    assert sums is not None
    return sums.columns


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT k, sum(v) AS s, max(v) AS m FROM x GROUP BY k", ("s",)),
        ("SELECT k, sum(v) AS `S`, s / 2 AS half, upper(k) AS u FROM x GROUP BY k", ("half", "s")),
        ("SELECT k, v, SUM (v) OVER (PARTITION BY k ORDER BY d) AS running FROM x", ("running",)),
        ("SELECT k, (SELECT avg(v) FROM x) AS a, v FROM x", ("a",)),
        ("SELECT k, v FROM x WHERE v > (SELECT avg(v) FROM x)", ()),
        ("SELECT k, max(v) AS m FROM x GROUP BY k HAVING sum(v) > 1", ()),
        ("SELECT d.*, x.v FROM (SELECT k, std(v) AS s FROM x GROUP BY k) AS d JOIN x USING (k)", ("s",)),
        ("WITH a AS (SELECT k, avg(v) AS s FROM x GROUP BY k) SELECT k, a.s AS t, 1 AS one FROM a", ("s", "t")),
        ("SELECT k, st.f AS g FROM (SELECT k, named_struct('f', avg(v)) AS st FROM x GROUP BY k)", ("g", "st")),
        ("SELECT k, v AS s, w FROM x UNION ALL SELECT k, sum(v), max(w) FROM x GROUP BY k", ("s",)),
        ("SELECT k, s AS t FROM (SELECT k, v AS s FROM x UNION ALL (SELECT k, sum(v) FROM x))", ("s", "t")),
        ("SELECT k, sum(v) FROM x GROUP BY k", _ALL),
        ("SELECT k, st.* FROM (SELECT k, named_struct('f', avg(v)) AS st FROM x GROUP BY k)", _ALL),
        ("SELECT * FROM x UNION ALL SELECT k, sum(v) FROM x GROUP BY k", _ALL),
        ("SELECT * FROM (SELECT k, sum(v) FROM x GROUP BY k) AS d(k, t)", _ALL),
        ("SELECT * FROM (SELECT k, p, v FROM x) PIVOT (sum(v) AS s FOR p IN (1, 2))", _ALL),
    ],
)
def test_sums_are_followed_into_the_columns_of_the_result(query: str, columns: tuple[str, ...] | None) -> None:
    assert _columns(query) == columns


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_that_adds_up_is_known_in_text_and_tree(name: str) -> None:
    arguments = "v, w" if name.startswith(("corr", "covar", "regr")) else "v"
    assert name in AGGREGATE
    assert _columns(f"SELECT k, {name}({arguments}) AS s, min(v) AS m FROM x GROUP BY k") == ("s",)


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM x", "SELECT k, v * 2 AS w FROM x", "SELECT k, max(v) AS sum, count(*) AS n FROM x GROUP BY k"],
)
def test_what_is_copied_or_computed_from_one_row_is_exact(query: str) -> None:
    assert analyse(query, ("x",)).float_sums is None


def test_the_first_sum_has_a_position() -> None:
    sums = analyse("SELECT k,\n  avg(v) AS a, sum(v) AS s\nFROM x GROUP BY k", ("x",)).float_sums
    assert sums is not None
    assert (sums.function, sums.line, sums.column) == ("avg", 2, 3)
