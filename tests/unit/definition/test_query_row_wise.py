"""Row-wise queries: recognised when every part is known to look at one row of one input, else never."""

from __future__ import annotations

from contextlib import suppress

import pytest

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.query.query import analyse
from airflow_refresh_provider.core.query.spark_functions import AGGREGATE, GENERATOR, ROW, WINDOW
from airflow_refresh_provider.errors import Invalid


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM x",
        "SELECT a, b AS c FROM x AS o WHERE o.a IN (1, 2) AND b BETWEEN 1 AND 2 AND c LIKE 'x%' AND d IS NOT NULL",
        "SELECT * EXCEPT (a) FROM x",
        "SELECT upper(a) u, CAST(b AS DECIMAL(10, 2)) d, a || b c, CASE WHEN a THEN b ELSE c END e FROM x",
        "SELECT coalesce(a, b) c, m['k'] k, s.f, date_add(d, 1) e, to_date(t) g, round(a, 2) r, a::int i FROM x;",
        "SELECT a, now() AS t, current_date AS d FROM x",
        "SELECT a FROM (SELECT * FROM x)",
        "SELECT t.c FROM (SELECT a, upper(b) FROM x WHERE a > 1) AS t(c, d) WHERE d <> 'A'",
        "WITH y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH y AS (SELECT * FROM x WHERE a > 1), z(c) AS (SELECT a FROM y) SELECT c + 1 AS d FROM z WHERE c < 9",
        "WITH x AS (SELECT * FROM x) SELECT * FROM x",
        "SELECT * FROM (WITH y AS (SELECT * FROM x) SELECT * FROM y)",
        "SELECT transform(a, v -> v + 1) AS b, filter(a, (v, i) -> i > 0) AS c, exists(a, v -> v IS NULL) AS d FROM x",
        "SELECT get_json_object(a, '$.k') AS b, from_json(a, 'k INT').k AS c, split(a, ',')[0] AS d FROM x",
        "SELECT extract(YEAR FROM a) AS b, timestampadd(HOUR, 1, a) AS c, trim(BOTH 'x' FROM d) AS e FROM x",
        "SELECT position('a' IN b) AS c, substring(b FROM 2 FOR 3) AS d, try_cast(b AS INT) AS e, X'1F' AS f FROM x",
        "SELECT a FROM x WHERE b LIKE ANY ('u%', 'v%') AND NOT (c IN (1) OR (d <=> e)) AND f RLIKE 'g'",
        "SELECT CASE WHEN (a) THEN (b) ELSE (c) END AS d, INTERVAL '1' DAY AS e, DATE '2020-01-01' AS f FROM x",
        "SELECT CASE a WHEN 1 THEN 'u' END AS b, named_struct('f', 1).f AS c, array(1)[0] AS d FROM x",
        "SELECT a % 2 AS b, a DIV 2 AS c, ~a AS d, -a AS e, a || b AS f, a & 1 AS g, a << 1 AS h FROM x",
        "SELECT `date_format`(a, 'yyyy') AS b, pmod(c, 3) AS d, CAST(e AS VARCHAR(10)) AS f, if((g), 1, 2) AS h FROM x",
    ],
)
def test_columns_and_filters_of_one_input_are_row_wise(query: str) -> None:
    assert analyse(query, ("x",)).row_wise


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM x JOIN x AS y USING (a)",
        "SELECT * FROM x, range(3)",
        "SELECT a FROM x GROUP BY a",
        "SELECT a FROM x GROUP BY ALL",
        "SELECT a FROM x HAVING a > 1",
        "SELECT sum(a) OVER () AS s FROM x",
        "SELECT a FROM x QUALIFY row_number() OVER (ORDER BY a) = 1",
        "SELECT DISTINCT a FROM x",
        "SELECT a FROM x UNION ALL SELECT a FROM x",
        "SELECT a FROM x WHERE a IN (SELECT 1)",
        "SELECT a, (SELECT 1) AS b FROM x",
        "SELECT a FROM x LIMIT 3",
        "SELECT a FROM x ORDER BY a",
        "SELECT a FROM x SORT BY a",
        "SELECT * FROM x LATERAL VIEW explode(a) t AS b",
        "SELECT * FROM x PIVOT (sum(a) FOR b IN (1, 2))",
        "SELECT unknown_function(a) AS b FROM x",
        "SELECT somewhere.upper(a) AS b FROM x",
        "SELECT a FROM x WHERE EXISTS (SELECT 1 FROM x)",
        "SELECT a FROM x WHERE a = (SELECT max(a) FROM x)",
        "SELECT a FROM (SELECT a FROM x LIMIT 3)",
        "SELECT a FROM (SELECT DISTINCT a FROM x) WHERE a > 1",
        "SELECT a FROM (SELECT a, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM x) WHERE n = 1",
        "WITH y AS (SELECT a, count(*) AS n FROM x GROUP BY a) SELECT a FROM y",
        "WITH y AS (SELECT * FROM x) SELECT * FROM y JOIN y AS z USING (a)",
        "WITH y AS (SELECT * FROM x), z AS (SELECT 1 AS b) SELECT * FROM y",
        "WITH y AS (SELECT 1 AS a) SELECT * FROM x",
        "WITH y AS (SELECT a FROM x) SELECT a FROM x WHERE a IN (SELECT a FROM y)",
        "WITH RECURSIVE y AS (SELECT a FROM x UNION ALL SELECT a + 1 FROM y) SELECT a FROM y",
        "SELECT a, transform(b, v -> (SELECT max(a) FROM x)) AS c FROM x",
        "SELECT a, current_user() AS b FROM x",
        "SELECT a, current_user AS b FROM x",
        "SELECT any(a) AS b FROM x",
        "SELECT 'u' LIKE max(a) AS b FROM x",
        "SELECT a RLIKE my_function(b) AS c FROM x",
        "SELECT a = any(b) AS c FROM x",
        "SELECT `position_`(a) AS b FROM x",
        "SELECT `dec`(a) AS b FROM x",
        "SELECT window(a, '1 hour') AS b FROM x",
        "SELECT b.c FROM x LATERAL VIEW inline(a) b",
        "SELECT a FROM VALUES (1) AS t(a) JOIN x USING (a)",
    ],
)
def test_everything_else_is_not_row_wise(query: str) -> None:
    assert not analyse(query, ("x",)).row_wise


@pytest.mark.parametrize(
    ("query", "obstacle"),
    [
        ("SELECT a FROM x JOIN x AS y USING (a) GROUP BY a", "JOIN (line 1, column 17)"),
        ("SELECT *\nFROM x, range(3)", "JOIN (line 2, column 9)"),
        ("SELECT row_number() OVER (ORDER BY a) AS n\nFROM x\nORDER BY n", "ORDER BY (line 3, column 1)"),
        ("SELECT count(DISTINCT a) AS n FROM x\nGROUP BY b", "GROUP BY (line 2, column 1)"),
        ("SELECT a FROM x\nWHERE a IN (SELECT b FROM x LIMIT 1)\nLIMIT 3", "LIMIT (line 3, column 1)"),
        ("SELECT a FROM (SELECT a FROM x\nORDER BY a) WHERE a > 1", "ORDER BY (line 2, column 1)"),
        ("SELECT a,\n sum(b) AS c FROM x", "the aggregate function sum (line 2, column 2)"),
        ("SELECT a,\n my_udf(b) AS c FROM x", "the function my_udf (line 2, column 2)"),
        ("SELECT a, explode(b) AS c FROM x", "the generator function explode (line 1, column 11)"),
        ("SELECT upper(a) AS b,\n rank() OVER (ORDER BY a) AS c FROM x", "a window function (line 2, column 2)"),
    ],
)
def test_the_first_clause_in_the_text_is_named_at_its_keyword(query: str, obstacle: str) -> None:
    assert str(analyse(query, ("x",)).obstacle).startswith(f"{obstacle} is not supported")


MANY_ROWS = AGGREGATE | WINDOW | GENERATOR | {"variant_explode", "window", "session_window"}


@pytest.mark.parametrize("function", sorted(MANY_ROWS))
def test_functions_over_or_into_many_rows_are_not_row_wise(function: str) -> None:
    found = _facts_of_calls(function)
    assert found
    assert not any(facts.row_wise for facts in found)


NO_CALLS = {"and", "between", "cast", "div", "ilike", "in", "like", "or", "rlike", "when"}


@pytest.mark.parametrize("function", sorted(ROW - NO_CALLS))
def test_functions_of_one_row_are_row_wise(function: str) -> None:
    found = _facts_of_calls(function)
    assert found
    assert all(facts.row_wise for facts in found)


def _facts_of_calls(function: str) -> list[QueryFacts]:
    """The facts of queries that call a function with up to three arguments, as far as the parser takes them."""
    found = []
    for arguments in ("", "a", "a, b", "a, b, c", "'a', b FROM c"):
        with suppress(Invalid):
            found.append(analyse(f"SELECT {function}({arguments}) AS z FROM x", ("x",)))
    return found
