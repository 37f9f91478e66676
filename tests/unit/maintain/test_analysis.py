"""What the analysis does with constructs that it does not follow, and which anchors it picks."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.binding import bound
from airflow_refresh_provider.core.maintain.plan import Maintenance
from tests.unit.maintain import catalogue

INPUTS = {
    "a": {"k": "bigint", "g": "int", "s": "struct<`x`:int>", "l": "array<int>", "t": "string"},
    "b": {"k": "bigint", "w": "int", "t": "string"},
}


def plan(query: str, *keys: str) -> Maintenance:
    inputs = {name: types for name, types in INPUTS.items() if f" {name}" in query}
    return maintenance(query, inputs, keys or ["k"])


@pytest.mark.parametrize(
    ("query", "unfollowed"),
    [
        (
            "WITH RECURSIVE t AS (SELECT k, 0 AS n FROM a UNION ALL SELECT k, 1 FROM t WHERE n < 3) SELECT k FROM t",
            {"a": "WITH RECURSIVE (line 1, column 16)"},
        ),
        ("SELECT k, posexplode(l) FROM a", {"a": "columns that the query does not list (line 1, column 11)"}),
        ("SELECT s.*, k FROM a", {"a": "columns that the query does not list (line 1, column 8)"}),
        ("SELECT * FROM a PIVOT (count(*) FOR g IN (1, 2))", {"a": "PIVOT (line 1, column 15)"}),
        ("SELECT a.k, x.v FROM a, LATERAL (SELECT max(w) v FROM b WHERE b.k = a.k) x", {"b": "b without a column"}),
        ("SELECT a.k FROM a, (SELECT max(w) m FROM b) x WHERE a.g < x.m", {"b": "an aggregate of all rows (line 1"}),
        ("SELECT k FROM a WHERE g = ANY (SELECT w FROM b)", {"b": "a subquery whose rows concern all"}),
        ("SELECT k, g + count(*) AS n FROM a GROUP BY ALL", {"a": "GROUP BY ALL beside a column with an"}),
        (
            "SELECT a.k FROM a JOIN b ON a.t = b.k",
            {"b": "b by a comparison of a.t (string) with b.k (bigint), which are of two types (line 1, column 24)"},
        ),
        (
            "SELECT coalesce(a.k, b.t) AS k, w FROM a FULL JOIN b ON a.k = b.t",
            {"a": "a by a comparison of a.k (bigint) with b.t", "b": "b by a comparison of a.k (bigint) with b.t"},
        ),
        ("SELECT count(*) AS n FROM a", {"a": "an aggregate of all rows (line 1, column 8)"}),
        ("SELECT k, sum(g) OVER (ORDER BY k) AS n FROM a", {"a": "a window without PARTITION BY (line 1, column 11)"}),
        (
            "SELECT k, sum(g) OVER (PARTITION BY k) AS n, sum(g) OVER (PARTITION BY t) AS m FROM a",
            {"a": "a window whose PARTITION BY has no column of that of the windows before it (line 1, column 46)"},
        ),
        (
            "SELECT a.k, w FROM a JOIN b ON a.k = b.kk",
            {"b": "the column b.kk, which no input has (line 1, column 38)"},
        ),
        (
            "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = kk) AND s.y > 1",
            {"b": "a subquery whose rows concern all rows around it (line 1, column 38)"},
        ),
        ("SELECT kk AS k FROM a GROUP BY kk", {"a": "the column kk, which no input has (line 1, column 8)"}),
        ("SELECT s.y AS k FROM a GROUP BY s.y", {"a": "the column s.y, which no input has (line 1, column 8)"}),
        (
            "SELECT _metadata.file_path AS k, count(*) AS n FROM a GROUP BY _metadata.file_path",
            {"a": "a without a column that leads"},
        ),
        ("SELECT q AS k FROM a LATERAL VIEW explode(l) AS q GROUP BY q", {"a": "a without a column that leads"}),
        ("SELECT v AS k FROM (SELECT v FROM VALUES (1) AS x(v), a) GROUP BY v", {"a": "a without a column that"}),
    ],
)
def test_an_input_that_is_not_followed_is_named_with_the_construct(query: str, unfollowed: dict[str, str]) -> None:
    found = plan(query).unfollowed
    assert found.keys() == unfollowed.keys()
    assert all(str(found[name]).startswith(words) for name, words in unfollowed.items())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, explode(l) AS e FROM a",
        "SELECT k, posexplode(l) AS (p, e) FROM a",
        "SELECT k, e FROM a LATERAL VIEW explode(l) x AS e",
        "FROM a SELECT k",
        "(SELECT k FROM a) UNION ALL (SELECT k FROM b) ORDER BY k",
        "SELECT max_by(g, t) AS m, k FROM a GROUP BY k",
        "SELECT transform(l, e -> e + k) AS x, k FROM a",
        "SELECT * EXCEPT (g) FROM a",
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN 1 END AS c, k FROM a",
    ],
)
def test_constructs_that_are_followed(query: str) -> None:
    found = plan(query)
    assert (found.anchors, found.unfollowed) == (("k",), {})


def test_anchors_are_keys_and_no_constants() -> None:
    assert plan("SELECT 'x' AS c, a.k, a.t FROM a LEFT JOIN b USING (k)").anchors == ("k",)
    assert plan("SELECT g, t, count(*) AS n FROM a GROUP BY g, t", "g", "t").anchors == ("g", "t")
    assert plan("SELECT 1 AS src, k FROM a UNION ALL SELECT 2, k FROM b", "src", "k").anchors == ("k",)


@pytest.mark.parametrize(("type_", "followed"), [("string", True), ("string collate UNICODE_CI_AI", False)])
def test_texts_that_a_collation_takes_for_equal_lead_nowhere(type_: str, followed: bool) -> None:
    inputs = {"a": {"k": "bigint", "t": type_}, "b": {"k": "bigint", "t": "string"}}
    query = "SELECT b.t, max(a.k) AS m FROM a JOIN b ON upper(a.t) = b.t GROUP BY b.t"
    assert ("a" not in maintenance(query, inputs, ["t"]).unfollowed) is followed


def test_only_the_names_of_inputs_are_replaced_in_the_text() -> None:
    query = "SELECT `a`.k, 'a' AS x -- a\nFROM `a` JOIN B y ON y.k = `a`.k, (SELECT k FROM a) AS z"
    assert bound(query, plan(query.replace("B", "b")).uses).replace("airflow_refresh_", "") == (
        "SELECT `a`.k, 'a' AS x -- a\nFROM use_0 AS `a` JOIN use_1 y ON y.k = `a`.k, (SELECT k FROM use_2 AS a) AS z"
    )


@pytest.mark.parametrize(
    ("query", "used"),
    [
        ("SELECT k, count(*) AS n FROM a GROUP BY k", {"a": ("k",)}),
        ("SELECT a.k, w FROM a JOIN b USING (k) WHERE g > 1", {"a": ("g", "k"), "b": ("k", "w")}),
        ("SELECT k, g FROM a NATURAL JOIN b", {"a": ("g", "k", "t"), "b": ("k", "t")}),
        ("SELECT k, g FROM a FULL JOIN b USING (k)", {"a": ("g", "k"), "b": ("k",)}),
        ("SELECT * EXCEPT (g) FROM a", {}),
        ("SELECT k, struct(*) AS x FROM a", {}),
        (
            "SELECT k, (SELECT max(w) FROM b WHERE b.k = a.k AND b.t = a.t) AS m FROM a",
            {"a": ("k", "t"), "b": ("k", "t", "w")},
        ),
        ("WITH x AS (SELECT k, g FROM a) SELECT k FROM x", {"a": ("g", "k")}),
        ("SELECT x.k FROM (SELECT * FROM a) x", {}),
        ("SELECT k, s.x AS x FROM a", {"a": ("k", "s")}),
        ("SELECT k, a.s.x AS x FROM a", {"a": ("k", "s")}),
        ("SELECT k, s.z AS x FROM a", {}),
        ("SELECT c1 AS k FROM a AS x(c1, c2, c3, c4, c5)", {}),
        ("SELECT k, max(g) OVER (PARTITION BY k ORDER BY t) AS m FROM a", {"a": ("g", "k", "t")}),
        ("SELECT k FROM a GROUP BY k HAVING max(g) > 1", {"a": ("g", "k")}),
        ("SELECT k FROM a UNION ALL SELECT k FROM b WHERE w > 1", {"a": ("k",), "b": ("k", "w")}),
    ],
)
def test_the_columns_that_are_read_are_known_or_all_may_be(query: str, used: dict[str, tuple[str, ...]]) -> None:
    assert plan(query).used == used


@pytest.mark.parametrize(
    ("query", "routes"),
    [
        ("SELECT k, g FROM a UNION ALL SELECT x.k + 1000, x.g + 1 FROM b x", {"a": "`h0`.`k`", "b": "`h0`.`k` + 1000"}),
        ("SELECT k, g FROM a UNION ALL SELECT b.h, c.g FROM b JOIN c ON b.h = c.k", {"b": "`h0`.`h`", "c": "`h0`.`k`"}),
        (
            "SELECT k, max(v) m FROM (SELECT * FROM (a JOIN b ON a.h = b.k) n) t(p, q, r, v, s, k, y, z, w, x) "
            "GROUP BY k",
            {"a": "`h0`.`h`", "b": "`h0`.`k`"},
        ),
        ("SELECT k, max(y) m FROM (SELECT g + 1, h + 1 FROM a) t(k, y) GROUP BY k", {"a": "`h0`.`g` + 1"}),
        ("WITH t(y, k) AS (SELECT abs(g), abs(h) FROM a) SELECT k, max(y) m FROM t GROUP BY k", {"a": "ABS(`h0`.`h`)"}),
        (
            "SELECT * FROM a JOIN c USING (k, g) UNION ALL SELECT k, h, g, w, s, h FROM b",
            {"a": "`h0`.`k`", "b": "`h0`.`k`"},
        ),
        (
            "SELECT * FROM a JOIN c USING (g, k) UNION ALL SELECT h, k, g, w, s, h FROM b",
            {"a": "`h0`.`k`", "b": "`h0`.`k`"},
        ),
        ("SELECT * FROM c NATURAL JOIN e UNION ALL SELECT h, k, g, w, w FROM b", {"c": "`h0`.`k`", "b": "`h0`.`h`"}),
        (
            "SELECT max(x) m, k FROM (SELECT * FROM c JOIN b USING (g)) t(k, x, y, z, w, v, u) GROUP BY k",
            {"c": "`h0`.`g`"},
        ),
        ("SELECT max(x) m, k FROM (SELECT c.* FROM b JOIN c USING (g)) t(k, x, y) GROUP BY k", {"c": "`h0`.`g`"}),
    ],
)
def test_columns_without_a_name_of_their_own_are_found_by_their_place(query: str, routes: dict[str, str]) -> None:
    found = {route.input: route.values for route in maintenance(query, catalogue.INPUTS, ("k",)).routes}
    assert {name: found[name] for name in routes} == {name: (value,) for name, value in routes.items()}
