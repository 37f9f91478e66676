"""Queries over rows in memory give what Spark gives, or are refused."""

from decimal import Decimal

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.testing.spark_sql.evaluation import Relation, evaluate
from tests.unit.testing.catalogue import ANSWERED, INPUTS, REFUSED, Rows


@pytest.mark.parametrize(("query", "columns", "rows"), [a[1:] for a in ANSWERED], ids=[a[0] for a in ANSWERED])
def test_a_query_gives_the_columns_and_rows_that_spark_gives(query: str, columns: str, rows: Rows) -> None:
    found = evaluate(query, INPUTS)
    assert ", ".join(f"{c.name} {c.type}" for c in found.columns) == columns
    assert sorted(found.rows, key=repr) == sorted(rows, key=repr)


@pytest.mark.parametrize("query", [query for _, query in REFUSED], ids=[name for name, _ in REFUSED])
def test_what_could_differ_from_spark_is_refused(query: str) -> None:
    with pytest.raises(Invalid) as raised:
        evaluate(query, INPUTS)
    assert raised.value.code == "query_unsupported_in_memory"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT nothing FROM orders",
        "SELECT person, id FROM orders GROUP BY person",
        "SELECT id FROM orders UNION SELECT id, name FROM people",
        "SELECT id, qty AS id FROM orders",
        "SELECT id FROM",
    ],
)
def test_a_wrong_query_is_refused(query: str) -> None:
    with pytest.raises(Invalid) as raised:
        evaluate(query, INPUTS)
    assert raised.value.code == "query_invalid"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id / 0 AS x FROM orders",
        "SELECT id DIV 0 AS x FROM orders",
        "SELECT id % 0 AS x FROM orders",
        "SELECT id + 2147483647 AS x FROM orders",
        "SELECT CAST(amount AS DECIMAL(4,2)) AS x FROM orders",
        "SELECT CAST(note AS INT) AS x FROM orders",
        "SELECT (SELECT id FROM orders) AS x FROM people",
    ],
)
def test_a_query_fails_on_rows_on_which_it_fails_in_spark(query: str) -> None:
    with pytest.raises(Failed) as raised:
        evaluate(query, INPUTS)
    assert raised.value.code == "query_failed"


def test_many_rows_of_decimals_keep_their_digits() -> None:
    column = (Column(name="d", type="decimal(10,2)"),)
    many = Relation(column, tuple((Decimal(n) / 4,) for n in range(1000)))
    (row,) = evaluate("SELECT sum(d) AS s, count(*) AS n FROM many", (("many", many),)).rows
    assert row == (Decimal("124875.00"), 1000)


def test_a_type_that_is_not_supported_is_named() -> None:
    listed = Relation((Column(name="l", type="array<int>"),), ())
    with pytest.raises(Invalid, match="array<int>"):
        evaluate("SELECT count(*) AS n FROM listed", (("listed", listed),))
