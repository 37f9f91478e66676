"""Temporal filters on real Spark: a filter is what the query says, and rows that come and go with time are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.temporal_sql import turned
from airflow_refresh_provider.core.query.clock_functions import clock_spans
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.core.query.query import bind_clock
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.host import SystemClock
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

TYPES = {
    "id": "bigint", "d": "date", "ts": "timestamp", "l": "timestamp_ntz", "u": "bigint", "text": "string",
    "kind": "string", "days": "int", "st": "struct<day:date>",
}  # fmt: skip
ROWS = """
    SELECT id, IF(id % 11 = 0, NULL, d) AS d, IF(id % 13 = 0, NULL, ts) AS ts, CAST(ts AS TIMESTAMP_NTZ) AS l,
    unix_timestamp(ts) AS u, CAST(d AS STRING) AS text, IF(id % 3 = 0, 'open', IF(id % 3 = 1, 'closed', NULL)) AS kind,
    IF(id % 5 = 0, NULL, CAST(id % 4 AS INT)) AS days, named_struct('day', d) AS st
    FROM (SELECT id, date_add(DATE'2024-01-01', CAST(id - 500 AS INT)) AS d,
        TIMESTAMP'2024-03-01 00:00:00+00:00' + make_dt_interval(0, CAST(id - 500 AS INT), 17) AS ts FROM range(1000))
"""
SEVERAL = ("year(d) = year(current_date()) AND month(d) = month(current_date())",)
CONDITIONS = [
    *SEVERAL,
    "d >= current_date() - INTERVAL 30 DAYS",
    "d >= current_date - 7",
    "d BETWEEN date_sub(current_date(), 7) AND date_add(curdate(), 1)",
    "d > add_months(current_date(), -3)",
    "d >= trunc(current_date(), 'MM')",
    "d < date_trunc('YEAR', current_timestamp())",
    "last_day(d) = last_day(current_date())",
    "quarter(d) = quarter(current_date())",
    "datediff(current_date(), d) < 7",
    "datediff(current_date(), d) BETWEEN 1 AND days",
    "months_between(current_date(), d) < 3",
    "date_add(d, days) = current_date()",
    "NOT (d < current_date())",
    "NOT (current_date() BETWEEN d AND date_add(d, days))",
    "d NOT BETWEEN current_date() AND date_add(current_date(), days)",
    "(current_date() BETWEEN d AND date_add(d, days)) = (id > 500)",
    "(current_date() BETWEEN d AND date_add(d, days)) = (current_date() > d)",
    "d != current_date()",
    "d <=> current_date()",
    "(d >= current_date() - 1 OR kind = 'open')",
    "(d < current_date() AND kind = 'open') IS NOT TRUE",
    "coalesce(d, DATE'2024-01-02') <= current_date()",
    "CASE WHEN kind = 'open' THEN d ELSE date_add(d, 5) END >= current_date()",
    "if(kind IS NULL, d, current_date()) = current_date()",
    "d IN (current_date(), current_date() - 1)",
    "CAST(text AS DATE) > current_date() - 2",
    "to_date(text) = current_date()",
    "st.day >= current_date()",
    "greatest(d, DATE'2024-01-02') < current_date()",
    "floor(datediff(current_date(), d) / 7) = 0",
    "CAST(ts AS DATE) = current_date()",
    "date(ts) >= current_date() - 1",
    "date_trunc('MONTH', ts) = date_trunc('MONTH', current_timestamp())",
    "ts > now() - INTERVAL '1' HOUR",
    "ts >= current_timestamp() - INTERVAL 1 DAY",
    "ts < current_timestamp - INTERVAL '2 03:04:05' DAY TO SECOND",
    "timestampdiff(HOUR, ts, now()) < 36",
    "timestampadd(DAY, 2, ts) > now()",
    "l <= localtimestamp()",
    "u > unix_timestamp() - 3600",
    "current_date() BETWEEN d AND date_add(d, 3)",
]
MOMENTS = [
    datetime(2024, 1, 1, 23, 59, tzinfo=UTC),
    datetime(2024, 1, 2, 0, 1, tzinfo=UTC),
    datetime(2024, 1, 9, 12, tzinfo=UTC),
    datetime(2024, 3, 1, tzinfo=UTC),
    datetime(2024, 3, 1, 1, 30, tzinfo=UTC),
    datetime(2024, 5, 4, tzinfo=UTC),
    datetime(2025, 1, 1, 6, tzinfo=UTC),
]


@dataclass(frozen=True)
class Passed:
    """Conditions at two moments, as columns: what the query says then, and for which rows they are found to differ."""

    before: datetime
    now: datetime

    def columns(self, number: int, condition: str) -> str:
        then, now = (_bound(condition, moment) for moment in (self.before, self.now))
        found = turned(_filters(condition), self.before, self.now).get("x", "false")
        both = (f"coalesce({sql}, false) AS {name}{number}" for name, sql in (("then", then), ("now", now)))
        return ", ".join((*both, f"{found} AS found{number}"))


def _bound(condition: str, moment: datetime) -> str:
    query = f"SELECT id FROM x WHERE {condition}"
    return f"({bind_clock(query, clock_spans(parse(query)), moment).partition(' WHERE ')[2]})"


def _filters(condition: str) -> Any:
    found = maintenance(f"SELECT id FROM x WHERE {condition}", {"x": TYPES}, ["id"])
    assert not found.unfollowed, (condition, str(found.unfollowed["x"]))
    return found.temporal


def test_a_row_is_found_exactly_where_the_condition_of_the_query_has_turned(
    open_session: Callable[[], SparkSession],
) -> None:
    spark = open_session()
    spark.sql(ROWS).createOrReplaceTempView("temporal_rows")
    turns = dict.fromkeys(range(len(CONDITIONS)), 0)
    for passed in (Passed(*pair) for pair in (*pairwise(MOMENTS), (MOMENTS[3], MOMENTS[0]))):
        columns = ", ".join(passed.columns(number, condition) for number, condition in enumerate(CONDITIONS))
        rows = spark.sql(f"SELECT id, {columns} FROM temporal_rows").collect()
        for number, condition in enumerate(CONDITIONS):
            wrong = [row for row in rows if _is_found(row, number) != _has_turned(row, number)]
            # Of several conditions those rows are found too for which only one has turned.
            wrong = [row for row in wrong if _has_turned(row, number) or condition not in SEVERAL]
            assert not wrong, (condition, passed)
            turns[number] += sum(_has_turned(row, number) for row in rows)
    assert [CONDITIONS[number] for number, count in turns.items() if not count] == []


def _has_turned(row: Row, number: int) -> bool:
    return bool(row[f"then{number}"] != row[f"now{number}"])


def _is_found(row: Row, number: int) -> bool:
    return bool(row[f"found{number}"])


@dataclass
class LaterClock(SystemClock):
    """The clock of this host, some days later."""

    days: int = 0

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


VIEWS = {
    "recent": (
        "SELECT customer, count(*) AS events, max(day) AS newest FROM events "
        "WHERE day >= current_date() - INTERVAL 3 DAYS AND day <= current_date() GROUP BY customer",
        ["customer"],
    ),
    "rows": ("SELECT id, customer, day FROM events WHERE day BETWEEN current_date() - 3 AND current_date()", ["id"]),
}


class Diary:
    """Events on the days before and after today."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint, view: str) -> None:
        self.clock, self.view, self.events = LaterClock(), view, f"delta.`{folder / 'events'}`"
        made = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.refreshes = Refreshes(replace(made.ports, clock=self.clock))
        self.do = lambda statement: spark.sql(statement).collect()
        self.do(
            f"CREATE TABLE {self.events} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
            "SELECT id, id % 7 AS customer, date_add(current_date(), CAST(id % 30 - 20 AS INT)) AS day FROM range(300)"
        )
        query, keys = VIEWS[view]
        self.refreshes.register(
            Definition.build(
                name=view,
                target=str(folder / view),
                query=query,
                inputs={"events": {"path": str(folder / "events")}},
                keys=keys,
                mode="incremental",
            )
        )

    def run(self) -> RunResult:
        """A refresh, after which a comparison of everything finds no difference."""
        result = self.refreshes.run(self.view, Request())
        assert self.refreshes.compare_only(self.view).equal
        return result


@pytest.mark.parametrize("view", VIEWS)
def test_the_target_follows_the_clock(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, view: str
) -> None:
    diary = Diary(open_session(), tmp_path, spark_server, view)
    diary.run()
    diary.clock.days = 1
    assert diary.run().mode_code == "verification"
    diary.clock.days = 2
    result = diary.run()
    assert (result.mode, result.mode_reason) == ("incremental", "rows that come and go with time")
    assert result.touched and not result.notices
    diary.clock.days = 4
    diary.do(f"INSERT INTO {diary.events} SELECT 1000 + id, id, current_date() FROM range(9)")
    diary.do(f"DELETE FROM {diary.events} WHERE id % 5 = 0")
    result = diary.run()
    assert result.mode == "incremental" and result.rows.deleted + result.rows.updated > 0
