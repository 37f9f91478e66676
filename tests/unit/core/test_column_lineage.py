"""Which columns of the inputs each column of a result is made of."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.query.column_lineage import origins
from airflow_refresh_provider.errors import Invalid

X = {"x": {"K": "int", "v": "string"}}
BOTH = {"x": {"k": "int", "v": "string"}, "y": {"k": "int", "w": "string"}}
SEVERAL = {
    "SELECT * FROM x": (X, {"k": [("x", "K")], "v": [("x", "v")]}),
    "SELECT K, upper(v) AS u FROM x WHERE v <> 'a'": (X, {"k": [("x", "K")], "u": [("x", "v")]}),
    "SELECT x.k, concat(v, w) AS both FROM x JOIN y ON x.k = y.k": (
        BOTH,
        {"k": [("x", "k")], "both": [("x", "v"), ("y", "w")]},
    ),
    "WITH a AS (SELECT k, v FROM x UNION SELECT k, w FROM y) SELECT k, max(v) AS m, count(*) AS n FROM a GROUP BY k": (
        BOTH,
        {"k": [("x", "k"), ("y", "k")], "m": [("x", "v"), ("y", "w")]},
    ),
    "SELECT k, (SELECT max(w) FROM y WHERE y.k = x.k) AS m FROM x": (BOTH, {"k": [("x", "k")], "m": [("y", "w")]}),
    "SELECT 1 AS one FROM x": (X, {}),
}


@pytest.mark.parametrize("query", SEVERAL)
def test_columns_come_from_columns(query: str) -> None:
    columns, expected = SEVERAL[query]
    assert origins(query, columns) == {name: tuple(found) for name, found in expected.items()}


def test_a_query_that_is_not_followed_has_no_lineage() -> None:
    assert origins("SELECT t.* FROM x", X) is None


def test_text_that_is_no_query_is_refused() -> None:
    with pytest.raises(Invalid):
        origins("DROP TABLE x", X)
