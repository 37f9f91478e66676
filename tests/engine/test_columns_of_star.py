"""The analysis gives `*` the columns that Spark gives it, in Spark's order: queries around may count them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from airflow_refresh_provider.core.maintain import columns
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.query.parse import parse

_INPUTS = {
    "a": {"k": "bigint", "g": "bigint", "v": "bigint"},
    "b": {"g": "bigint", "w": "bigint", "k": "bigint"},
    "c": {"w": "bigint", "k": "bigint", "u": "bigint"},
}
_QUERIES = [
    "SELECT * FROM a, b JOIN c USING (w)",
    *(f"SELECT * FROM a {kind} JOIN b USING (g)" for kind in ("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")),
    *(f"SELECT a.*, 1 AS x, b.* FROM a {kind} JOIN b USING (g)" for kind in ("", "LEFT", "RIGHT", "FULL")),
    "SELECT a.* FROM a LEFT SEMI JOIN b USING (g)",
    "SELECT * FROM a JOIN b USING (G, k) JOIN c USING (w, K)",
    "SELECT a.*, 1 AS x, b.*, 2 AS y, c.* FROM a JOIN b USING (g, k) JOIN c USING (K)",
    "SELECT a.*, 1 AS x, b.*, 2 AS y, c.* FROM a FULL JOIN b USING (g, k) RIGHT JOIN c USING (k)",
    "SELECT a.*, 1 AS x, b.* FROM a LEFT JOIN b USING (k) LEFT SEMI JOIN c USING (w)",
    "SELECT * FROM a NATURAL JOIN b",
    "SELECT * FROM b NATURAL FULL JOIN a NATURAL JOIN c",
    "SELECT * FROM a NATURAL JOIN (SELECT K, w FROM b) b",
    "SELECT * EXCEPT (g) FROM a JOIN b USING (g)",
    "SELECT z.* FROM a LEFT JOIN (b JOIN (SELECT k, u FROM c) c USING (k)) z ON a.k = z.k",
    "SELECT * FROM a LEFT JOIN (b JOIN c USING (k)) ON a.k = b.k",
    "SELECT a.*, c.*, b.* FROM a RIGHT JOIN (b JOIN c USING (k)) USING (g)",
    "SELECT * FROM a JOIN b USING (g) LATERAL VIEW explode(array(v, w)) l AS e",
    "SELECT * FROM (SELECT * FROM a JOIN b USING (g)) t(p, q, r, s, o)",
]


@pytest.fixture
def spark(open_session: Callable[[], SparkSession]) -> SparkSession:
    session = open_session()
    for name, types in _INPUTS.items():
        listed = ", ".join(f"CAST(1 AS {type_}) AS {column.upper()}" for column, type_ in types.items())
        session.sql(f"SELECT {listed}").createOrReplaceTempView(name)
    return session


def test_the_columns_of_star_are_those_of_spark(spark: SparkSession) -> None:
    found = {query: _analysed(query) for query in _QUERIES}
    assert found == {query: [name.lower() for name in spark.sql(query).columns] for query in _QUERIES}


def _analysed(query: str) -> list[str]:
    reader = Reader(parsed := parse(query), _INPUTS)
    reader.relation(parsed.tree, {})
    assert reader.top is not None
    assert isinstance(parsed.tree, exp.Select)
    return [name for name, _ in columns.outputs(parsed.tree, reader.top.scope)]
