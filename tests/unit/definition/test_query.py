"""Queries: one repeatable SELECT over the inputs; whatever else is refused with its position."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.query.query import analyse
from airflow_refresh_provider.errors import Invalid


def refusal(query: str, inputs: tuple[str, ...] = ("x",)) -> Invalid:
    with pytest.raises(Invalid) as caught:
        analyse(query, inputs)
    assert caught.value.next
    return caught.value


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM x",
        "select * from X",
        "SELECT * FROM `x` AS o",
        "SELECT * FROM x;",
        "SELECT * FROM x; -- the end",
        "(SELECT * FROM x)",
        "FROM x SELECT a",
        "WITH y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH y AS (SELECT * FROM x), z AS (SELECT * FROM Y) SELECT * FROM Z",
        "WITH y AS (SELECT * FROM x) SELECT * FROM y UNION ALL SELECT * FROM Y",
        "WITH RECURSIVE y AS (SELECT 1 a UNION ALL SELECT a + 1 FROM y) SELECT * FROM y JOIN x USING (a)",
        "SELECT * FROM (WITH y AS (SELECT * FROM x) SELECT * FROM y)",
        "SELECT * FROM x WHERE EXISTS (SELECT 1 FROM x AS o WHERE o.a = x.a)",
        "SELECT /*+ BROADCAST(o) */ * FROM x AS o",
        "SELECT * FROM x, range(5)",
        "SELECT * FROM x LATERAL VIEW explode(a) t AS b",
        "SELECT * FROM x JOIN (VALUES (1), (2)) AS v(a) USING (a)",
        "SELECT * FROM x |> WHERE a > 1",
    ],
)
def test_a_select_over_the_input_is_accepted(query: str) -> None:
    assert analyse(query, ("x",)).tables == ("x",)


def test_tables_are_spelled_and_ordered_as_the_inputs_are() -> None:
    assert analyse("SELECT * FROM customer, ORDERS", ("Orders", "Customer")).tables == ("Orders", "Customer")


@pytest.mark.parametrize(
    ("query", "line", "column", "name"),
    [
        ("SELECT * FROM y, x", 1, 15, "y"),
        ("SELECT *\r\nFROM x\n  JOIN `odd one` USING (a)", 3, 8, "odd one"),
        ("SELECT '😀' FROM x, y", 1, 20, "y"),
        ("WITH y AS (SELECT * FROM z), z AS (SELECT 1) SELECT * FROM y, x", 1, 26, "z"),
        ("WITH y AS (SELECT 1 FROM y) SELECT * FROM y, x", 1, 26, "y"),
        ("SELECT * FROM (WITH y AS (SELECT * FROM x) SELECT * FROM y) z, y", 1, 64, "y"),
        ("SELECT * FROM x WHERE a IN (SELECT a FROM y)", 1, 43, "y"),
    ],
)
def test_an_unknown_table_is_named_with_its_position(query: str, line: int, column: int, name: str) -> None:
    error = refusal(query)
    assert error.code == "unknown_table"
    assert error.message.startswith(f"query, line {line}, column {column}: unknown table {name};")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM db.x",
        "SELECT * FROM delta.`/data/x`",
        "SELECT * FROM x, parquet.`/data/x`",
        "SELECT * FROM x, read_files('/data')",
        "SELECT * FROM table_changes('x', 1), x",
        "SELECT * FROM IDENTIFIER('x')",
    ],
)
def test_what_cannot_be_pinned_is_refused(query: str) -> None:
    error = refusal(query)
    assert error.code == "unknown_table"
    assert "input" in error.next


@pytest.mark.parametrize("query", ["SELECT * FROM x", "WITH y AS (SELECT 1) SELECT * FROM y, x"])
def test_an_input_that_is_not_read_is_refused(query: str) -> None:
    error = refusal(query, ("x", "y"))
    assert (error.code, error.message) == ("unused_input", "query: does not read the input y")


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("", 1),
        ("-- nothing", 1),
        ("INSERT INTO x SELECT 1", 1),
        ("  DELETE FROM x", 3),
        ("CREATE VIEW v AS SELECT * FROM x", 1),
        ("SET a = 1", 1),
        ("SHOW TABLES", 1),
        ("VALUES (1)", 1),
        ("SELECT 1; SELECT 2", 11),
        ("SELECT * FROM x; DROP TABLE x", 18),
        ("WITH c AS (SELECT * FROM x) INSERT INTO b SELECT * FROM c", 1),
        ("FROM x INSERT INTO b SELECT *", 1),
    ],
)
def test_anything_but_one_select_is_refused(query: str, column: int) -> None:
    error = refusal(query)
    assert error.code == "query_invalid"
    assert error.message == f"query, line 1, column {column}: must be exactly one SELECT statement"


@pytest.mark.parametrize(
    ("query", "place", "near"),
    [
        ("SELECT FROM WHERE", "line 1, column 13", "near 'WHERE'"),
        ("SELECT 1\nFROM x JOIN", "line 2, column 8", "near 'JOIN'"),
        ("SELECT a\r\nFROM x\r\nWHERE a = = 2", "line 3, column 11", "near '='"),
        ("SELECT 'abc\nFROM x", "line 2, column 7", "ends inside a string"),
        ("SELECT /* abc", "line 1, column 14", "ends inside a string, a quoted name or a comment"),
        ("SELECT map(a) FROM x", "line 1, column 1", "cannot be parsed"),
        (f"SELECT {'(' * 3000}1{')' * 3000} FROM x", "line 1, column 1", "cannot be parsed"),
    ],
)
def test_a_syntax_error_is_reported_with_place_and_excerpt(query: str, place: str, near: str) -> None:
    error = refusal(query)
    assert error.code == "query_invalid"
    assert place in error.message
    assert near in error.message


@pytest.mark.parametrize(
    ("query", "column"),
    [("SELECT a FROM x WHERE b = :p", 27), ("SELECT '${env:HOME}' FROM x", 9), ("SELECT a FROM x -- ${a}", 20)],
)
def test_variables_and_parameters_are_refused(query: str, column: int) -> None:
    assert refusal(query).message.startswith(f"query, line 1, column {column}: has ")


def test_versions_and_scripts_are_refused() -> None:
    assert "asks for a version of x" in refusal("SELECT * FROM x VERSION AS OF 3").message
    assert "runs a script" in refusal("SELECT TRANSFORM(a) USING 'cat' FROM x").message


CHANGING = [
    "rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id",
    "spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length", "reflect",
    "java_method", "try_reflect",
]  # fmt: skip


@pytest.mark.parametrize("function", CHANGING)
@pytest.mark.parametrize("form", ["{}(1)", "`{}`(1)", "system.builtin.{}(1)", "upper({}(1))"])
def test_a_function_that_changes_is_refused_wherever_it_stands(function: str, form: str) -> None:
    call = form.format(function.upper()).replace("1", "1, 2" if function == "uniform" else "1")
    place = call.index("`") if "`" in call else call.upper().index(f"{function.upper()}(")
    error = refusal(f"SELECT a,\n  {call} AS b FROM x")
    assert error.code == "nondeterministic_query"
    assert error.message.startswith(f"query, line 2, column {place + 3}: {function} gives other values")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM x TABLESAMPLE (10 PERCENT)",
        "SELECT DATE'today' AS d FROM x",
        "SELECT CAST(' Today UTC' AS DATE) AS d FROM x",
        "SELECT 'now'::timestamp AS d FROM x",
        "SELECT date('tomorrow') AS d FROM x",
        "SELECT to_date('now') AS d FROM x",
        "SELECT a FROM x WHERE b IN (DATE'2026-01-01', 'today')",
        "SELECT date_trunc('day', 'now') AS d FROM x",
        "SELECT a FROM x WHERE b < 'now' + INTERVAL 1 DAY",
        "SELECT timestamp 'NOW' AS d FROM x",
        "SELECT * FROM x WHERE d > TIMESTAMP_NTZ ' yesterday UTC'",
    ],
)
def test_samples_and_moving_moments_are_refused(query: str) -> None:
    assert refusal(query).code == "nondeterministic_query"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT a FROM x WHERE b < 'now'", ["'now'"]),
        ("SELECT a FROM x WHERE b BETWEEN 'yesterday' AND c", ["'yesterday'"]),
        ("SELECT CASE WHEN a THEN b ELSE 'Today UTC' END AS d FROM x", ["'Today UTC'"]),
        ("SELECT CASE a WHEN 'today' THEN 1 END AS d FROM x WHERE s IN ('now', 'later')", ["'today'", "'now'"]),
        ("SELECT if(a = ('now'), 1, 2) AS d, nullif(b, 'tomorrow') AS e FROM x", ["'now'", "'tomorrow'"]),
    ],
)
def test_words_that_may_be_plain_text_are_left_to_the_types(query: str, words: list[str]) -> None:
    found = analyse(query, ["x"]).date_words
    assert [query[word.start : word.end] for word in found] == words


@pytest.mark.parametrize(
    "query",
    [
        "SELECT rand, uuid FROM x",
        "SELECT a AS rand FROM x",
        "SELECT 'rand()' AS a FROM x -- uuid()",
        "SELECT `rand()` FROM x",
        "WITH uuid(a) AS (SELECT * FROM x) SELECT * FROM uuid",
        "SELECT DATE'2026-01-01' AS d, 'today' AS e FROM x",
        "SELECT a || 'now' AS b FROM x WHERE a LIKE 'now' OR a = concat('today') OR a = 'today and tomorrow'",
        "SELECT a FROM x WHERE a ILIKE 'now' OR a RLIKE 'today' OR regexp_like(a, 'yesterday')",
    ],
)
def test_what_only_looks_like_something_that_changes_is_accepted(query: str) -> None:
    assert analyse(query, ("x",)).clock_spans == ()
