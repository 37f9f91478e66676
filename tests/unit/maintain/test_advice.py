"""Advice is true: the changed definitions follow what is promised, and their results have the rows of the query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import pytest
import sqlglot
from sqlglot.optimizer.qualify import qualify

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.maintain import missing
from airflow_refresh_provider.core.maintain.advice import advice
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.assumed import assumed_columns
from airflow_refresh_provider.core.maintain.by_text import analysed, surely_unfollowed
from tests.unit.maintain import keyed
from tests.unit.maintain.catalogue import ADVISED, FOLLOWED, INPUTS, UNFOLLOWED
from tests.unit.maintain.keyed import Inputs, Row, is_right, random_changes, whole
from tests.unit.maintain.test_catalogue import inputs_of
from tests.unit.maintain.test_tpch import tables_of
from tests.unit.maintain.tpch import QUERIES

Types = Mapping[str, Mapping[str, str]]
ROUNDS = 40


def definition_of(query: str, tables: Types) -> Definition:
    """A definition whose key is the first column that has a name."""
    columns, _ = whole({name: [] for name in tables}, query)
    return Definition.build(
        name="view",
        target="/gold/view",
        query=query,
        inputs={name: {"path": f"/in/{name}"} for name in tables},
        keys=columns[:1],
        mode="auto",
    )


def advised(query: str) -> tuple[Definition, list[Advice]]:
    tables = {name: INPUTS[name] for name in inputs_of(query)}
    definition = definition_of(query, tables)
    found = maintenance(query, tables, definition.keys)
    return definition, list(advice(definition, tables, found))


def rows_of(definitions: tuple[Definition, ...], inputs: Inputs) -> tuple[list[str], Counter[Row]]:
    """The result of the last definition; those before it are inputs of it, under the end of their names."""
    for given in definitions[:-1]:
        assert given.query is not None
        whole(inputs, given.query)
        name = given.name.removeprefix("view_")
        keyed.create_view(name, given.query)
    assert definitions[-1].query is not None
    return whole(inputs, definitions[-1].query)


def without_null(inputs: Inputs) -> Inputs:
    """The rows in which no value is NULL."""
    return {name: [row for row in rows if None not in row] for name, rows in inputs.items()}


def unfollowed_of(definitions: tuple[Definition, ...]) -> list[set[str]]:
    """The inputs that each definition does not follow; the columns of a definition are those of its query."""
    known: dict[str, Mapping[str, str]] = dict(INPUTS)
    found = []
    for given in definitions:
        assert given.query is not None
        types = {name: known[name] for name in given.inputs}
        found.append(set(maintenance(given.query, types, given.keys).unfollowed))
        columns, _ = whole({name: [] for name in INPUTS}, given.query) if len(found) < len(definitions) else ([], None)
        known[given.name.removeprefix("view_")] = dict.fromkeys(columns, "int")
    return found


@pytest.mark.parametrize("query", ADVISED)
def test_the_advice_is_given(query: str) -> None:
    _, found = advised(query)
    assert [(one.kind.value, re.sub(r": .*", "", one.text)) for one in found] == [ADVISED[query]]


@pytest.mark.parametrize("query", [*ADVISED, *UNFOLLOWED])
def test_advised_definitions_follow_more_and_keep_the_rows(query: str) -> None:
    definition, found = advised(query)
    tables = {name: INPUTS[name] for name in inputs_of(query)}
    before = set(maintenance(query, tables, definition.keys).unfollowed)
    for one in found:
        *inner, last = unfollowed_of(one.definitions)
        assert inner == [set()] * len(inner)
        assert last & before < before
        assert last == set() or one.definitions[-1].mode is Mode.AUTO
        for seed in range(ROUNDS):
            old, _ = random_changes(seed, tables)
            old = without_null(old) if one.kind is AdviceKind.NOT_EXISTS else old
            columns, rows = whole(old, query)
            wider, found_rows = rows_of(one.definitions, old)
            assert wider[: len(columns)] == columns
            assert Counter(row[: len(columns)] for row in found_rows.elements()) == rows


@pytest.mark.parametrize("query", [query for query, (kind, _) in ADVISED.items() if kind == AdviceKind.ADD_COLUMN])
def test_a_query_with_the_added_column_is_refreshed_as_it_is_computed(query: str) -> None:
    _, (one,) = advised(query)
    changed = one.definitions[0].query
    assert changed is not None
    tables = {name: INPUTS[name] for name in inputs_of(query)}
    plan = maintenance(changed, tables, one.definitions[0].keys)
    assert all(is_right(plan, changed, *random_changes(seed, tables)) for seed in range(ROUNDS))


def test_not_exists_gives_other_rows_where_something_compared_is_null_as_its_advice_says() -> None:
    query = "SELECT k, v FROM a WHERE k NOT IN (SELECT k FROM b)"
    _, (one,) = advised(query)
    assert "neither a.k nor b.k is NULL" in one.text
    changed = one.definitions[0].query
    assert changed == "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"
    inputs: Inputs = {"a": [(1, 0, 0, 0, "x")], "b": [(None, 0, 0, 0, "x")]}
    assert (whole(inputs, query)[1], whole(inputs, changed)[1]) == (Counter(), Counter({(1, 0): 1}))


@pytest.mark.parametrize(
    "condition",
    [
        "NOT k IN (SELECT k FROM b)",
        "k + 1 NOT IN (SELECT k FROM b)",
        "k NOT IN (SELECT k + 1 FROM b)",
        "k NOT IN (SELECT k FROM b LIMIT 1)",
        "k NOT IN (SELECT max(k) FROM b GROUP BY g)",
        "k NOT IN (SELECT k FROM b UNION SELECT g FROM b)",
        "a.k NOT IN (SELECT k FROM b a)",
        "k NOT IN (SELECT k FROM b -- a comment\n)",
    ],
)
def test_no_other_not_in_is_rewritten(condition: str) -> None:
    _, found = advised(f"SELECT k, v FROM a WHERE {condition}")
    assert [one for one in found if one.kind is AdviceKind.NOT_EXISTS] == []


@pytest.mark.parametrize("query", FOLLOWED)
def test_a_query_that_follows_all_gets_no_advice(query: str) -> None:
    assert advised(query)[1] == []


@pytest.mark.parametrize("query", [*FOLLOWED, *UNFOLLOWED])
def test_the_text_says_what_the_columns_say_or_that_columns_are_to_be_qualified(query: str) -> None:
    tables = {name: INPUTS[name] for name in inputs_of(query)}
    definition = definition_of(query, tables)
    found, by_text = analysed(definition)
    known = maintenance(query, tables, definition.keys)
    if found.unfollowed.keys() != known.unfollowed.keys():
        assert {one.kind for one in by_text} >= {AdviceKind.QUALIFY_COLUMNS}
        assert found.unfollowed.keys() > known.unfollowed.keys()
    else:
        assert found.anchors == known.anchors


@pytest.mark.parametrize("number", QUERIES)
def test_with_qualified_columns_the_text_of_tpch_says_what_is_followed(number: int) -> None:
    tables = tables_of(QUERIES[number])
    schema: dict[str, object] = {name: dict(columns) for name, columns in tables.items()}
    query = qualify(
        sqlglot.parse_one(QUERIES[number], read="spark"),
        schema=schema,
        dialect="spark",
        expand_stars=False,
        quote_identifiers=False,
    ).sql("spark")
    named = assumed_columns(query, tables, ())
    assert named.unresolved == ()
    known, found = maintenance(query, tables, ()), maintenance(query, named.columns, ())
    assert (found.anchors, found.unfollowed) == (known.anchors, known.unfollowed)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT v, w FROM a LEFT JOIN b ON a.k = b.k", "whether v (line 1, column 8) is of a or b"),
        ("SELECT a.k, c.u FROM a LEFT JOIN c ON a.k = c.k AND v > 1", None),
        ("SELECT a.k, b.w FROM a NATURAL LEFT JOIN b", "list the columns of a and b (line 1, column 42)"),
        ("SELECT k FROM a WHERE k IN (SELECT k FROM b)", "whether k (line 1, column 36) is of b or a"),
        ("SELECT k FROM a WHERE k IN (SELECT b.k FROM b)", None),
        ("SELECT k, count(*) AS n FROM (SELECT * FROM a UNION ALL SELECT * FROM b) t GROUP BY k", "list the columns"),
        ("WITH s AS (SELECT * FROM a) SELECT s.k, b.w FROM s JOIN b ON s.k = b.k", None),
        ("WITH s AS (SELECT * FROM a), t AS (SELECT s.*, b.w FROM s JOIN b USING (k)) SELECT k, v, w FROM t", None),
        ("SELECT x.p AS k FROM a AS x(p, q) JOIN b ON x.p = b.k", "list the columns of x"),
    ],
)
def test_columns_that_cannot_be_resolved_are_named(query: str, words: str | None) -> None:
    definition = definition_of(query, {name: INPUTS[name] for name in inputs_of(query)})
    found, by_text = analysed(definition)
    texts = [one.text for one in by_text if one.kind is AdviceKind.QUALIFY_COLUMNS]
    if words is None:
        assert (texts, found.unfollowed) == ([], {})
    else:
        assert len(texts) == 1 and words in texts[0]


def test_the_parts_of_a_split_keep_their_text() -> None:
    query = (
        "WITH busy AS (\n  SELECT k, count(*) AS n -- rows\n  FROM a GROUP BY k\n),\nother AS (SELECT g FROM b)\n"
        "SELECT n, count(*) AS m FROM busy AS x GROUP BY n"
    )
    definition = definition_of(query, {"a": INPUTS["a"], "b": INPUTS["b"]})
    by_text = analysed(definition)[1]
    inner, outer = by_text[0].definitions
    assert inner.query == "SELECT k, count(*) AS n -- rows\n  FROM a GROUP BY k"
    assert outer.query == "SELECT n, count(*) AS m FROM busy AS x GROUP BY n"
    assert (inner.name, inner.target, inner.keys, list(inner.inputs)) == ("view_busy", "/gold/view_busy", ("k",), ["a"])
    assert {name: given.path for name, given in outer.inputs.items()} == {"busy": "/gold/view_busy"}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "SELECT a.k, sum(a.vv) t FROM a GROUP BY a.k",
            "the column a.vv (line 1, column 17): no input has it; is it v?",
        ),
        (
            "SELECT g, count(*) n FROM a WHERE total > 1 GROUP BY g",
            "the column total (line 1, column 35): no input has it",
        ),
        (
            "SELECT b.k, x.zzz FROM b JOIN (SELECT k FROM a) x ON x.k = b.k",
            "the column x.zzz (line 1, column 13): no input has it",
        ),
    ],
)
def test_a_column_that_no_input_has_is_to_be_corrected(query: str, text: str) -> None:
    found = missing.advised(query, INPUTS)
    assert found is not None and (found.kind, found.text) == (AdviceKind.CORRECT_COLUMN, f"correct {text}")


def test_no_query_is_refused_by_its_text_that_its_columns_make_followed() -> None:
    catalogue = [*FOLLOWED, *UNFOLLOWED, *ADVISED]
    cases = [(query, {name: INPUTS[name] for name in inputs_of(query)}) for query in catalogue]
    refused = 0
    for query, tables in [*cases, *((query, tables_of(query)) for query in QUERIES.values())]:
        definition = definition_of(query, tables)
        if sure := surely_unfollowed(definition):
            refused += 1
            assert maintenance(query, tables, definition.keys).unfollowed, (query, sure)
    assert refused > 40


def test_columns_that_are_all_known_make_a_refusal_sure() -> None:
    definition = definition_of("SELECT a.k, b.w FROM a CROSS JOIN b", {name: INPUTS[name] for name in "ab"})
    assert str(surely_unfollowed(definition)).startswith("b without a column that leads to one of the result (line 1")


ODD = (
    "SELECT k, transform(array(v, g), x -> x + 1) t FROM a",
    "SELECT k, timestampdiff(DAY, current_date, current_date) n FROM a",
    "SELECT k, t.x FROM a LATERAL VIEW explode(array(v, g)) t AS x",
    "SELECT k, col FROM a, LATERAL explode(array(v)) t",
    "SELECT `1` FROM (SELECT k, g, v FROM a) PIVOT (sum(v) FOR g IN (1, 2))",
    "SELECT name, value FROM (SELECT k, g, v FROM a) UNPIVOT (value FOR name IN (g, v))",
    "SELECT m.x FROM (SELECT map('x', v) m FROM a)",
    "SELECT k, localtimestamp t, user u FROM a",
    "SELECT k, _metadata.file_path f FROM a",
    "SELECT k AS kk, count(*) n FROM a GROUP BY kk HAVING n > 1",
    "SELECT k, v + 1 AS y, y + 1 AS z FROM a",
)


@pytest.mark.parametrize("query", [*FOLLOWED, *UNFOLLOWED, *ADVISED, *ODD])
def test_no_column_is_called_missing_that_is_none(query: str) -> None:
    assert missing.advised(query, INPUTS) is None
