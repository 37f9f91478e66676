"""Targets with columns that the query does not give, or gives otherwise: filled, kept, dropped or widened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, Rows, RunResult
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "own"
FEED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"


class Own:
    """An input and a target, made by statements with {input} and {target}."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.spark = spark
        self.input, self.target = folder / "input", folder / "target"
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))

    def do(self, *statements: str) -> None:
        tables = {"input": f"delta.`{self.input}`", "target": f"delta.`{self.target}`"}
        for statement in statements:
            self.spark.sql(statement.format(**tables)).collect()

    def register(self, query: str, *keys: str, **more: Any) -> None:
        given = {"name": NAME, "target": str(self.target), "query": query, "keys": keys, "max_delete_ratio": 1.0}
        self.refreshes.register(Definition.build(**given, inputs={"x": {"path": str(self.input)}}, **more))

    def run(self) -> RunResult:
        """A refresh, after which nothing is left to do and the target equals the query."""
        result = self.refreshes.run(NAME, Request())
        assert self.refreshes.run(NAME, Request()).outcome is Outcome.NOTHING_TO_DO
        assert self.refreshes.compare_only(NAME).equal
        return result

    def rows(self, columns: str = "*") -> list[tuple[Any, ...]]:
        return sorted(map(tuple, self.spark.sql(f"SELECT {columns} FROM delta.`{self.target}`").collect()))

    def types(self) -> dict[str, str]:
        return dict(self.spark.sql(f"SELECT * FROM delta.`{self.target}` LIMIT 0").dtypes)


@pytest.fixture
def own(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Own:
    return Own(open_session(), tmp_path, spark_server)


FILLED = (
    "CREATE TABLE {target} (n BIGINT GENERATED {identity} AS IDENTITY, k BIGINT, at TIMESTAMP, "
    "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), who STRING NOT NULL DEFAULT 'system', v BIGINT) USING delta "
    "PARTITIONED BY (day) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', "
    "'delta.enableDeletionVectors' = '{vectors}')"
)


@pytest.mark.parametrize(
    ("identity", "vectors"),
    [("ALWAYS", "true"), pytest.param("BY DEFAULT", "false", marks=pytest.mark.slow)],
)
def test_columns_that_the_table_fills_are_left_to_it(own: Own, identity: str, vectors: str) -> None:
    at = "TIMESTAMP'2024-01-01 10:00:00' + make_interval(0, 0, 0, CAST(id AS INT))"
    own.do(
        f"CREATE TABLE {{input}} USING delta AS SELECT id AS k, {at} AS at, id AS v FROM range(20)",
        FILLED.replace("{identity}", identity).replace("{vectors}", vectors),
        f"INSERT INTO {{target}} (k, at, who, v) SELECT id, {at}, 'ann', 0 FROM range(10)",
    )
    numbers = dict(own.rows("k, n"))
    own.register("SELECT k, at, v FROM x", "k", adopt=True)

    result = own.run()

    # The row of key 0 has the value 0 already.
    assert result.rows == Rows(inserted=10, updated=9, unchanged=1)
    assert [notice.code for notice in result.notices] == ["columns_kept"]
    assert {k: n for k, n in own.rows("k, n") if k < 10} == numbers
    assert len({n for (n,) in own.rows("n")}) == 20
    assert set(own.rows("k < 10, who")) == {(True, "ann"), (False, "system")}
    assert own.rows("day = CAST(at AS DATE)") == [(True,)] * 20
    own.do("DELETE FROM {input} WHERE k >= 15", "UPDATE {input} SET at = at + INTERVAL 400 DAYS WHERE k = 3")
    assert own.run().rows == Rows(updated=1, deleted=5, unchanged=14)
    assert own.rows("day = CAST(at AS DATE)") == [(True,)] * 15
    assert {k: n for k, n in own.rows("k, n") if k < 10} == numbers


def test_an_empty_table_fills_its_columns_too(own: Own) -> None:
    own.do(
        "CREATE TABLE {input} USING delta AS SELECT id AS k, TIMESTAMP'2024-01-01 10:00:00' AS at, id AS v "
        "FROM range(20)",
        FILLED.replace("{identity}", "ALWAYS").replace("{vectors}", "true"),
    )
    own.register("SELECT k, at, v FROM x", "k", adopt=True)
    assert own.run().rows == Rows(inserted=20)
    assert set(own.rows("who, day")) == {("system", own.rows("DATE'2024-01-01'")[0][0])}
    assert len({n for (n,) in own.rows("n")}) == 20


def test_a_generated_column_takes_only_its_own_value_from_the_query(own: Own) -> None:
    own.do(
        "CREATE TABLE {input} USING delta AS SELECT id AS k, id AS v FROM range(4)",
        "CREATE TABLE {target} (k BIGINT, v BIGINT, twice BIGINT GENERATED ALWAYS AS (v * 2)) USING delta",
        "INSERT INTO {target} (k, v) VALUES (0, 7)",
    )
    own.register("SELECT k, v, v * 2 AS twice FROM x", "k", adopt=True)
    assert own.run().rows == Rows(inserted=3, updated=1)
    own.register("SELECT k, v, v + 1 AS twice FROM x", "k", adopt=True)
    with pytest.raises(Failed) as raised:
        own.refreshes.run(NAME, Request())
    assert raised.value.code == "constraint_violated" and "twice" in raised.value.message


def test_a_key_by_which_the_table_numbers_its_rows_is_not_updated(own: Own) -> None:
    own.do(
        "CREATE TABLE {target} (id BIGINT GENERATED BY DEFAULT AS IDENTITY, v BIGINT) USING delta",
        "INSERT INTO {target} (v) VALUES (50), (60)",
        "CREATE TABLE {input} USING delta AS SELECT id, v + 1 AS v FROM {target}",
    )
    own.register("SELECT id, v FROM x", "id", adopt=True)
    assert own.run().rows == Rows(updated=2)
    own.do("INSERT INTO {input} SELECT 1000 + id, id FROM range(3)")
    assert own.run().rows == Rows(inserted=3, unchanged=2)


def test_what_the_table_can_never_be_given_is_refused_when_it_is_adopted(own: Own) -> None:
    own.do(
        "CREATE TABLE {input} USING delta AS SELECT id, 'a' AS v FROM range(3)",
        "CREATE TABLE {target} (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) USING delta",
    )
    with pytest.raises(Refused) as raised:
        own.register("SELECT id, v FROM x", "id", adopt=True)
    assert raised.value.code == "identity_column"
    own.register("SELECT * FROM x", "id", adopt=True)
    before = DeltaTableLog().newest(str(own.target))
    with pytest.raises(Refused) as raised:
        own.refreshes.run(NAME, Request())
    assert raised.value.code == "identity_column"
    assert DeltaTableLog().newest(str(own.target)) == before


def test_a_change_that_is_none_of_rows_does_not_count(own: Own) -> None:
    own.do(f"CREATE TABLE {{input}} USING delta {FEED} AS SELECT id AS k, id AS v FROM range(4)")
    own.register("SELECT k, v FROM x", "k", mode="incremental")
    own.run()
    for statement in (
        "ALTER TABLE {target} ALTER COLUMN v COMMENT 'how much'",
        "COMMENT ON TABLE {target} IS 'kept fresh'",
        "ALTER TABLE {target} SET TBLPROPERTIES ('own.note' = 'mine')",
        "ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "ALTER TABLE {target} ADD CONSTRAINT small CHECK (v < 1000)",
    ):
        own.do(statement)
        assert own.refreshes.run(NAME, Request()).outcome is Outcome.NOTHING_TO_DO, statement
    own.do("UPDATE {input} SET v = v + 1 WHERE k = 2")
    result = own.run()
    assert (result.rows, result.mode) == (Rows(updated=1, unchanged=3), "incremental")
    own.do("ALTER TABLE {target} ADD COLUMNS (mine STRING)")
    with pytest.raises(Refused):
        own.refreshes.run(NAME, Request())


def test_fields_inside_of_columns_are_added_in_any_order(own: Own) -> None:
    own.do(
        f"CREATE TABLE {{input}} (k INT, s STRUCT<a: INT>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>) "
        f"USING delta {FEED}",
        "INSERT INTO {input} VALUES (1, named_struct('a', 1), array(named_struct('a', 1)), "
        "map('x', named_struct('a', 1))), (2, NULL, NULL, NULL)",
    )
    own.register("SELECT k, s, l, m FROM x", "k", mode="incremental")
    own.run()
    own.do(
        "ALTER TABLE {input} ADD COLUMNS (s.b STRING FIRST, l.element.b INT FIRST, m.value.b DATE FIRST)",
        "INSERT INTO {input} VALUES (3, named_struct('b', 'bee', 'a', 3), array(named_struct('b', 4, 'a', 3)), "
        "map('y', named_struct('b', DATE'2024-01-01', 'a', 3)))",
    )
    assert own.run().rows == Rows(inserted=1, unchanged=2)
    own.do("UPDATE {input} SET s = named_struct('b', 'new', 'a', 9) WHERE k = 3")
    assert own.run().rows == Rows(updated=1, unchanged=2)
    assert own.rows("k, s.a, s.b, l[0].b, m['y'].a") == [
        (1, 1, None, None, None),
        (2, None, None, None, None),
        (3, 9, "new", 4, 3),
    ]
    assert own.types()["s"] == "struct<a:int,b:string>"


def test_columns_are_kept_dropped_and_widened_as_the_definition_says(own: Own) -> None:
    own.do(
        "CREATE TABLE {input} USING delta AS SELECT CAST(id AS INT) AS k, CAST(id AS INT) AS v, 'x' AS w, "
        "named_struct('a', 1, 'b', 2) AS s FROM range(6)"
    )
    own.register("SELECT k, v, w, s FROM x", "k")
    own.run()
    rules = {"dropped": "keep", "retyped": "widen"}
    own.register("SELECT k, CAST(v + 1 AS BIGINT) AS v, s FROM x WHERE k <> 5", "k", on_schema_change=rules)
    assert own.run().rows == Rows(updated=5, deleted=1)
    assert own.types() == {"k": "int", "v": "bigint", "w": "string", "s": "struct<a:int,b:int>"}
    assert own.rows("k, v, w") == [(k, k + 1, "x") for k in range(5)]
    own.register("SELECT k, v, named_struct('a', 1) AS s FROM x", "k", on_schema_change=rules | {"dropped": "drop"})
    assert own.run().rows == Rows(inserted=1, updated=5)
    assert own.types() == {"k": "int", "v": "bigint", "s": "struct<a:int>"}
