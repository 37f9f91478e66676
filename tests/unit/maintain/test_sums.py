"""Results that are added up are what the whole query gives, after any change of one input; or in doubt."""

from __future__ import annotations

import random

import pytest

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, Column
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.exact_sums import exact, most_averaged
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.testing.memory_sums import added_up
from tests.unit.maintain import keyed
from tests.unit.maintain.added import decided
from tests.unit.maintain.keyed import random_rows, whole

TABLES = {
    "sale": {"id": "int", "customer": "int", "amount": "int", "status": "string"},
    "buyer": {"customer": "int", "country": "string"},
}
keyed.add_tables(TABLES)
ADDED_UP = {
    "SELECT customer, count(*) AS n FROM sale GROUP BY customer": {"sale"},
    "SELECT customer, count(*) AS n, sum(amount) AS s FROM sale GROUP BY customer": {"sale"},
    "SELECT customer, count(*) AS n, count(amount) AS c, sum(amount) AS s FROM sale GROUP BY 1": {"sale"},
    "SELECT customer, count(1) AS n, sum(coalesce(amount, 0)) AS s FROM sale GROUP BY ALL": {"sale"},
    "SELECT customer, status, count(*) AS n, min(amount) AS a, max(amount) AS b FROM sale GROUP BY customer, status": {
        "sale"
    },
    "SELECT customer % 2 AS half, count(*) AS n, sum(CASE WHEN status = 'x' THEN 1 ELSE 0 END) AS x FROM sale "
    "WHERE amount > 0 GROUP BY half": {"sale"},
    "SELECT c.country, count(*) AS n, count(o.amount) AS c, sum(o.amount) AS s FROM sale o JOIN buyer c "
    "ON o.customer = c.customer GROUP BY c.country": {"sale", "buyer"},
    "SELECT c.country, count(*) AS n, count(o.amount) AS c FROM buyer c LEFT JOIN sale o "
    "ON o.customer = c.customer GROUP BY c.country": {"buyer"},
    "SELECT c.country, count(*) AS n, max(o.amount) AS m FROM sale o, buyer c GROUP BY c.country": {
        "sale",
        "buyer",
    },
    "SELECT 'all' AS whole, count(*) AS n, count(amount) AS c, sum(amount) AS s, sum(1) AS o FROM sale": {"sale"},
    "SELECT customer, avg(amount) AS a, sum(amount) AS s, count(amount) AS c, count(*) AS n FROM sale GROUP BY 1": {
        "sale"
    },
    "SELECT 'all' AS whole, count(*) AS n, sum(coalesce(amount, 0)) AS s, avg(coalesce(amount, 0)) AS a FROM sale": {
        "sale"
    },
    "SELECT 'all' AS whole, count(*) AS n, min(amount) AS a, max(amount) AS b FROM sale WHERE id > 1": {"sale"},
    "SELECT 'all' AS whole, count(*) AS n, sum(amount) AS s, count(amount) AS c FROM sale GROUP BY whole": {"sale"},
    "SELECT 1 AS whole, count(*) AS n, sum(amount) AS s, count(amount) AS c FROM sale o JOIN buyer c "
    "ON o.customer = c.customer": {"sale", "buyer"},
}
NOT_ADDED_UP = (
    "SELECT customer, sum(amount) AS s FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, count(DISTINCT amount) AS d FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, sum(DISTINCT amount) AS d FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, sum(amount) FILTER (WHERE amount > 0) AS d FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, avg(amount) AS a FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, sum(amount) AS s, avg(amount) AS a FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, count(amount) AS c, sum(id) AS s, avg(amount) AS a FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, count(amount) AS c, sum(amount) AS s, avg(DISTINCT amount) AS a FROM sale "
    "GROUP BY customer",
    "SELECT customer, count(*) AS n, try_sum(amount) AS a FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n, sum(amount) + 1 AS a FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n FROM sale GROUP BY customer HAVING count(*) > 1",
    "SELECT customer, count(*) AS n FROM sale WHERE customer IN (SELECT customer FROM buyer) GROUP BY customer",
    "SELECT customer, count(*) AS n FROM sale WHERE rand() > 0.5 GROUP BY customer",
    "SELECT a.customer, count(*) AS n FROM sale a JOIN sale b ON a.id = b.id GROUP BY a.customer",
    "SELECT customer, count(*) AS n, sum(count(*)) OVER () AS t FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n FROM (SELECT * FROM sale LIMIT 3) GROUP BY customer",
    "SELECT o.customer, count(*) AS n FROM sale o FULL JOIN buyer c ON o.id = c.customer GROUP BY o.customer",
    "SELECT o.customer, count(*) AS n FROM sale o LEFT SEMI JOIN buyer c ON o.id = c.customer GROUP BY o.customer",
    "SELECT customer, count(*) AS n FROM sale GROUP BY customer WITH ROLLUP",
    "SELECT customer, status, count(*) AS n FROM sale GROUP BY customer",
    "SELECT customer, count(*) AS n FROM sale GROUP BY customer, status",
    "SELECT customer, count(*) AS n FROM sale GROUP BY customer LIMIT 3",
    "SELECT count(*) AS n, sum(amount) AS s FROM sale",
    "SELECT 'all' AS whole, sum(amount) AS s FROM sale",
    "SELECT 'all' AS whole, count(*) AS n FROM sale HAVING count(*) > 1",
    "SELECT 'all' AS whole, customer, count(*) AS n FROM sale GROUP BY customer",
    "SELECT upper('all') AS whole, count(*) AS n FROM sale",
)


def sums_of(query: str) -> Sums | None:
    """How a query is added up by its columns that are no aggregates."""
    types = {name: TABLES[name] for name in TABLES if f" {name}" in query}
    if query in NOT_ADDED_UP:
        keys = ["whole"] if "AS whole" in query else ["customer"]
    else:
        columns, _ = whole({name: [] for name in types}, query)
        keys = [column for column in columns if column in ("customer", "status", "half", "country", "whole")]
    return maintenance(query, types, keys).sums


@pytest.mark.parametrize("query", NOT_ADDED_UP)
def test_what_is_not_linear_is_not_added_up(query: str) -> None:
    assert sums_of(query) is None


def test_a_total_without_a_key_is_not_added_up() -> None:
    assert maintenance("SELECT count(*) AS n FROM sale", {"sale": TABLES["sale"]}, []).sums is None


@pytest.mark.parametrize("query", ADDED_UP)
def test_groups_of_changed_rows_say_what_the_groups_become(query: str) -> None:
    sums = sums_of(query)
    assert sums is not None and set(sums.inputs) == ADDED_UP[query]
    found = sum(is_right(query, sums, random.Random(seed)) for seed in range(40))
    assert found > 20, "most changes are not in doubt"


def is_right(query: str, sums: Sums, chance: random.Random) -> int:
    """How many groups were decided by their changed rows."""
    names = [name for name in TABLES if f" {name}" in query]
    return decided(query, sums, chance, names, lambda name, most: random_rows(chance, TABLES[name], most))


@pytest.mark.parametrize(
    ("value", "counted"),
    [
        ("amount", None),
        ("1", "n"),
        ("coalesce(amount, 0)", "n"),
        ("coalesce(amount, id)", None),
        ("CAST(coalesce(amount, 0) AS BIGINT) * 2 - 1", "n"),
        ("TRY_CAST(coalesce(amount, 0) AS INT)", None),
        ("coalesce(amount, 0) / 2", None),
        ("CASE WHEN status = 'x' THEN 1 ELSE 0 END", "n"),
        ("CASE WHEN status = 'x' THEN 1 END", None),
        ("CASE WHEN status = 'x' THEN 1 ELSE amount END", None),
        ("if(status = 'x', 1, 0)", "n"),
        ("if(status = 'x', 1, NULL)", None),
        ("id", "c"),
        ("`id`", "c"),
    ],
)
def test_a_sum_of_what_is_never_null_needs_no_count_of_its_own(value: str, counted: str | None) -> None:
    query = f"SELECT customer, count(*) AS n, count(sale.id) AS c, sum({value}) AS s FROM sale GROUP BY customer"
    found = maintenance(query, {"sale": TABLES["sale"]}, ["customer"]).sums
    assert found is not None and found.sums == {"s": counted}


@pytest.mark.parametrize(
    ("types", "fits"),
    [
        ({"k": "int", "s": "bigint"}, True),
        ({"k": "string", "s": "decimal(20,2)"}, True),
        ({"k": "int", "s": "decimal(38,4)"}, True),
        ({"k": "int", "s": "decimal(36,20)"}, True),
        ({"k": "int", "s": "decimal(37,20)"}, False),
        ({"k": "int", "s": "decimal(38,10)"}, False),
        ({"k": "int", "s": "double"}, False),
        ({"k": "double", "s": "bigint"}, False),
        ({"k": "string collate UNICODE_CI", "s": "bigint"}, False),
        ({"k": "int", "s": "bigint", "m": "float"}, False),
        ({"k": "int", "s": "bigint", "m": "array<int>"}, False),
        ({"k": "int", "s": "bigint", "m": "timestamp"}, True),
    ],
)
def test_only_exact_types_are_added_up(types: dict[str, str], fits: bool) -> None:
    least = ("m",) if "m" in types else ()
    columns = tuple(Column(name=n, type=t) for n, t in {**types, "n": "bigint"}.items())
    assert exact(Sums(inputs=("x",), rows="n", sums={"s": "n"}, least=least), columns) is fits


@pytest.mark.parametrize(
    ("sum_type", "type_name", "most"),
    [
        ("bigint", "double", 2**53),
        ("double", "double", 0),
        ("decimal(25,2)", "decimal(19,6)", 10**9),
        ("decimal(26,4)", "decimal(20,8)", 10**8),
        ("decimal(38,2)", "decimal(38,6)", 1),
        ("decimal(38,10)", "decimal(38,14)", 1),
        ("decimal(11,0)", "decimal(5,4)", 10**17),
    ],
)
def test_averages_are_exact_up_to_a_number_of_values(sum_type: str, type_name: str, most: int) -> None:
    assert most_averaged(sum_type, type_name) == most
    columns = tuple(Column(name=n, type=t) for n, t in {"n": "bigint", "s": sum_type, "a": type_name}.items())
    found = Sums(inputs=("x",), rows="n", sums={"s": "n"}, averages={"a": "s"})
    assert exact(found, columns) is (most >= 1_000_000)


def test_an_average_of_a_sum_beyond_double_is_in_doubt() -> None:
    found = Sums(inputs=("x",), rows="n", sums={"s": "n"}, averages={"a": "s"})
    large = {"n": 1, "s": 2**53 - 1, "a": float(2**53 - 1)}
    assert added_up(large, {}, {"n": 1, "s": 0, "a": 0.0}, found)[0] == "U"
    assert added_up(large, {}, {"n": 1, "s": 1, "a": 1.0}, found)[0] == DOUBTFUL
