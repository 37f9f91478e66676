"""Temporal filters: what comes into a result, and leaves it, with time."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.maintain.analysis import NO_FILTER, maintenance
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.temporal_sql import shown, turned
from tests.unit.maintain.keyed import Row, changed, is_right_over_time, other_tables

TABLES = {
    "events": {"id": "int", "customer": "int", "day": "date", "kind": "string"},
    "customers": {"id": "int", "since": "date", "name": "string"},
}
DAYS = [date(1999, 12, 31), date(2000, 1, 1), date(2000, 1, 2)]
ROUNDS = 24
BEFORE = datetime(2000, 1, 1, 22, 30, tzinfo=UTC)
PASSED = [timedelta(hours=2), timedelta(days=1), timedelta(days=2), timedelta(days=-1), timedelta(hours=1)]
RECENT = "events.day >= current_date() - 1"
_JOINED = (
    "SELECT c.id, c.name, count(e.id) AS n FROM customers c {how} events e ON e.customer = c.id WHERE {where} "
    "GROUP BY c.id, c.name"
)

FOLLOWED = [
    f"SELECT id, customer, day, kind FROM events WHERE {RECENT}",
    "SELECT id, kind FROM events WHERE day BETWEEN current_date() - 1 AND current_date()",
    f"SELECT customer, count(*) AS n, max(day) AS newest FROM events WHERE {RECENT} GROUP BY customer",
    "SELECT customer, count(*) AS n FROM events WHERE day < current_date AND day >= date_sub(current_date(), 1) "
    "GROUP BY customer",
    "SELECT customer, count(*) AS n FROM events WHERE NOT (day >= current_date()) GROUP BY customer",
    f"SELECT customer, count(*) AS n FROM events WHERE {RECENT} OR kind = 'x' GROUP BY customer",
    "SELECT customer, count(*) AS n FROM events WHERE coalesce(day, DATE'2000-01-02') >= current_date() GROUP "
    "BY customer",
    "SELECT customer, count(*) AS n FROM events WHERE CASE WHEN kind = 'x' THEN day ELSE current_date() END = "
    "current_date() GROUP BY customer",
    "SELECT customer, count(*) AS n FROM events WHERE day = current_date() GROUP BY customer HAVING count(*) > 1",
    f"SELECT DISTINCT customer, kind FROM events WHERE {RECENT}",
    "SELECT * FROM events WHERE day <= current_date() QUALIFY row_number() OVER (PARTITION BY customer ORDER BY "
    "day DESC, id, kind) = 1",
    _JOINED.format(how="JOIN", where="e.day >= current_date() - 1"),
    _JOINED.format(how="JOIN", where="e.day > current_date() - 1 AND c.since < current_date()"),
    _JOINED.format(how="LEFT JOIN", where="e.day >= current_date() - 1"),
    _JOINED.format(how="LEFT JOIN", where="c.since >= current_date()"),
    _JOINED.format(how="LEFT SEMI JOIN", where="c.since >= current_date()").replace("count(e.id)", "count(*)"),
    f"WITH recent AS (SELECT * FROM events WHERE {RECENT}) SELECT c.id, count(r.id) AS n, sum(r.id) AS s FROM "
    "customers c "
    "LEFT JOIN recent r ON r.customer = c.id GROUP BY c.id",
    f"WITH recent AS (SELECT * FROM events WHERE {RECENT}) SELECT a.customer, count(*) AS n FROM recent a JOIN "
    "recent b "
    "ON a.customer = b.customer AND a.id < b.id GROUP BY a.customer",
    f"SELECT id, name FROM customers c WHERE EXISTS (SELECT 1 FROM events WHERE customer = c.id AND {RECENT})",
    f"SELECT id, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM events WHERE customer = c.id AND {RECENT})",
    f"SELECT id, name, (SELECT max(kind) FROM events WHERE customer = c.id AND {RECENT}) AS kind FROM customers c",
    f"SELECT customer AS id FROM events WHERE {RECENT} UNION ALL SELECT id FROM customers WHERE since > current_date()",
    f"SELECT x.customer, count(*) AS n FROM (SELECT customer FROM events WHERE {RECENT}) x GROUP BY x.customer",
]

UNFOLLOWED = [
    "SELECT id, current_date() AS today FROM events",
    f"SELECT id, current_date() AS today FROM events WHERE {RECENT}",
    "SELECT customer, max(day) AS newest FROM events GROUP BY customer HAVING max(day) >= current_date() - 1",
    "SELECT id FROM events WHERE current_date() > DATE'2000-01-01'",
    "SELECT id FROM events WHERE now() > TIMESTAMP'2000-01-01 00:00:00'",
    "SELECT c.id, e.kind FROM customers c JOIN events e ON e.customer = c.id AND e.day >= current_date() - 1",
    "SELECT c.id, e.kind FROM customers c JOIN events e ON e.customer = c.id "
    "WHERE datediff(c.since, e.day) < datediff(current_date(), e.day)",
    _JOINED.format(how="LEFT JOIN", where="coalesce(e.day, DATE'2000-01-02') >= current_date()"),
    "SELECT id FROM (SELECT id, day AS d FROM events) x WHERE x.d >= current_date()",
    "SELECT id FROM events WHERE day >= my_function(current_date())",
    f"SELECT customer FROM events WHERE {RECENT} "
    "AND kind = concat('AIRFLOW_REFRESH_CLOCK_NOW()', date_format(current_date(), 'y'))",
]


def plan_of(query: str) -> Maintenance:
    return maintenance(query, TABLES, [])


def all_right(query: str, plan: Maintenance) -> bool:
    """After random changes, and after none, at a later moment, or at one that a clock set back gives."""
    with other_tables(TABLES):
        return all(_is_right(query, plan, seed) for seed in range(ROUNDS))


def _is_right(query: str, plan: Maintenance, seed: int) -> bool:
    chance = random.Random(seed)
    old, new = changed(chance, TABLES, lambda name, most: _rows(chance, name, most))
    return is_right_over_time(plan, query, old, new if seed % 2 else old, BEFORE, BEFORE + PASSED[seed % len(PASSED)])


def _rows(chance: random.Random, name: str, most: int) -> list[Row]:
    """Rows of which most are about one of two days."""
    days = [None, *DAYS * 2]
    values: dict[str, list[Any]] = {"int": [0, 1, 2, 3], "string": ["x", "y", None], "date": days}
    return [
        tuple(chance.choice(values[kind]) for kind in TABLES[name].values()) for _ in range(chance.randint(0, most))
    ]


@pytest.mark.parametrize("query", FOLLOWED)
def test_rows_that_time_lets_in_or_out_are_found(query: str) -> None:
    plan = plan_of(query)
    assert plan.anchors and plan.temporal and not plan.unfollowed
    assert all_right(query, plan)


@pytest.mark.parametrize("query", [q for q in FOLLOWED if "NOT (" not in q])
def test_without_them_the_result_is_wrong(query: str) -> None:
    plan = plan_of(query).model_copy(update={"temporal": ()})
    assert not all_right(query, plan)


@pytest.mark.parametrize("query", UNFOLLOWED)
def test_other_uses_of_the_clock_are_refused_with_their_place(query: str) -> None:
    found = plan_of(query)
    (why,) = {str(obstacle) for obstacle in found.unfollowed.values()}
    assert found.unfollowed.keys() == TABLES.keys() and not found.temporal
    function = "now" if "now()" in query else "current_date"
    assert why.startswith(f"the clock function {function} {NO_FILTER} (line 1, column ")


def test_a_filter_of_rows_of_null_has_to_stay_what_it_is() -> None:
    """Rows of NULL after an outer join have no row of the input that could count as changed."""
    where = "coalesce(e.day, DATE'2000-01-02') >= current_date()"
    query = _JOINED.format(how="LEFT JOIN", where=where)
    alone = plan_of(f"SELECT id FROM events e WHERE {where}").temporal
    plan = plan_of(_JOINED.format(how="LEFT JOIN", where="e.day IS NOT NULL")).model_copy(update={"temporal": alone})
    assert alone and plan.anchors and not all_right(query, plan)


def test_null_counts_as_false_where_a_condition_may_become_null() -> None:
    query = "SELECT customer, count(*) AS n FROM events WHERE day >= current_date() OR kind = 'x' GROUP BY customer"
    plan = plan_of(query)
    (only,) = plan.temporal
    unsafe = plan.model_copy(update={"temporal": (only.model_copy(update={"null_by_row": True}),)})
    assert not only.null_by_row and all_right(query, plan) and not all_right(query, unsafe)


def test_the_function_that_is_not_followed_is_found_behind_one_that_is() -> None:
    for function in ("now()", "current_timestamp", "current_date()"):
        query = f"SELECT customer, max(day) AS m FROM events WHERE {RECENT}\nGROUP BY 1 HAVING max(day) < {function}"
        (why,) = {str(obstacle) for obstacle in plan_of(query).unfollowed.values()}
        assert why.startswith(f"the clock function {function.removesuffix('()')} ") and "line 2, column 30" in why


def test_a_filter_is_shown_as_it_was_written() -> None:
    (found,) = plan_of(FOLLOWED[0]).temporal
    assert (found.input, shown(found), found.null_by_row) == ("events", "day >= current_date() - 1", True)


def test_nothing_turns_while_the_clock_reads_the_same() -> None:
    filters = plan_of(FOLLOWED[0]).temporal
    assert turned(filters, BEFORE, BEFORE + timedelta(hours=1)) == {}
    condition = turned(filters, BEFORE, BEFORE + timedelta(hours=2))["events"]
    assert condition == (
        "((`day` >= DATE'2000-01-02' - 1) AND NOT (`day` >= DATE'2000-01-01' - 1) OR "
        "(`day` >= DATE'2000-01-01' - 1) AND NOT (`day` >= DATE'2000-01-02' - 1))"
    )


def test_places_of_inputs_are_those_of_the_text_with_the_moment_in_it() -> None:
    query = "SELECT id FROM events WHERE day >= current_date() AND id IN (SELECT id FROM customers WHERE since < now())"
    plan = plan_of(query)
    for use in plan.uses:
        assert query[use.start : use.end] == use.input
