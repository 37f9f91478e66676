"""Row-wise queries: recognised when every part is known to look at one row of one input, else never."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.query.query import analyse
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
        "SELECT a FROM (SELECT * FROM x)",
        "SELECT a FROM x WHERE a IN (SELECT 1)",
        "SELECT a, (SELECT 1) AS b FROM x",
        "WITH y AS (SELECT * FROM x) SELECT * FROM y",
        "SELECT a FROM x LIMIT 3",
        "SELECT a FROM x ORDER BY a",
        "SELECT a FROM x SORT BY a",
        "SELECT * FROM x LATERAL VIEW explode(a) t AS b",
        "SELECT * FROM x PIVOT (sum(a) FOR b IN (1, 2))",
        "SELECT unknown_function(a) AS b FROM x",
        "SELECT transform(a, v -> v + 1) AS b FROM x",
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
    ],
)
def test_the_first_clause_in_the_text_is_named_at_its_keyword(query: str, obstacle: str) -> None:
    assert str(analyse(query, ("x",)).obstacle).startswith(f"{obstacle} is not supported")


MANY_ROWS = [
    "any_value", "approx_count_distinct", "approx_percentile", "array_agg", "avg", "bit_and", "bit_or", "bit_xor",
    "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or", "collect_list", "collect_set",
    "corr", "count", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value",
    "grouping", "grouping_id", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "kll_sketch_agg_bigint",
    "kll_merge_agg_bigint", "kurtosis", "last", "last_value", "listagg", "max", "max_by", "mean", "median", "min",
    "min_by", "mode", "percentile", "percentile_approx", "percentile_cont", "percentile_disc", "product",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy",
    "regr_syy", "skewness", "some", "std", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum",
    "theta_sketch_agg", "theta_union_agg", "theta_intersection_agg", "try_avg", "try_sum", "var_pop", "var_samp",
    "variance", "cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank", "rank",
    "row_number", "explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "stack",
    "json_tuple", "variant_explode",
]  # fmt: skip


@pytest.mark.parametrize("function", MANY_ROWS)
def test_functions_over_or_into_many_rows_are_not_row_wise(function: str) -> None:
    accepted = 0
    for arguments in ("a", "a, b", "a, b, c", ""):
        try:
            facts = analyse(f"SELECT {function}({arguments}) AS z FROM x", ("x",))
        except Invalid:
            continue
        accepted += 1
        assert not facts.row_wise
    assert accepted
