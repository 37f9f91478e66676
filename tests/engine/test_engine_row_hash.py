"""The row hash of values with parts, on real Spark: equal ones alike, different ones apart, whatever they hold."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import close, connect

_SAME = {
    "array<double>": ("array(0D, double('NaN'))", "array(-0.0D, double('NaN'))"),
    "struct<`a b`:float>": ("struct(float(0))", "struct(float('-0.0'))"),
    "map<string,map<string,int>>": (
        "map('x', map('a', 1, 'b', NULL), 'y', map())",
        "map('y', map(), 'x', map('b', NULL, 'a', 1))",
    ),
    "array<map<int,array<int>>>": (
        "array(map(1, array(NULL, 2), 3, NULL))",
        "array(map(3, NULL, 1, array(NULL, 2)))",
    ),
    "map<struct<`k`:date>,string>": (
        "map(struct(date'2020-01-01'), 'a', struct(date'2020-01-02'), 'b')",
        "map(struct(date'2020-01-02'), 'b', struct(date'2020-01-01'), 'a')",
    ),
    "variant": ("""parse_json('{"a": 1, "b": [null]}')""", """parse_json('{"b":[null],"a":1}')"""),
}
_DIFFERENT = {
    "map<string,map<string,int>>": (
        "NULL",
        "map()",
        "map('x', NULL)",
        "map('x', map())",
        "map('x', map('a', NULL))",
        "map('x', map('a', 1))",
        "map('x', map('a', 1), 'y', map('b', 2))",
        "map('x', map('b', 2), 'y', map('a', 1))",
    ),
    "array<struct<`a`:int,`b`:array<string>>>": (
        "array(struct(1, array(NULL)))",
        "array(struct(1, NULL))",
        "array(struct(1, array()))",
        "array(struct(1, array()), NULL)",
        "array(NULL, struct(1, array()))",
        "array(struct(1, array('')), struct(NULL, NULL))",
        "array(struct(1, array()), struct(NULL, array('')))",
    ),
    "struct<`a`:array<int>,`b`:array<int>>": (
        "struct(array(1, 2), array())",
        "struct(array(1), array(2))",
        "struct(array(), array(1, 2))",
    ),
    "variant": (
        "NULL",
        "parse_json('null')",
        "parse_json('1')",
        "parse_json('\"1\"')",
        "parse_json('[1]')",
        "parse_json('{\"a\": null}')",
        "parse_json('{}')",
        "CAST(date'2020-01-01' AS VARIANT)",
        "CAST('2020-01-01' AS VARIANT)",
    ),
    "struct<`v`:variant,`n`:int>": ("struct(parse_json('1'), NULL)", "struct(NULL, 1)", "struct(NULL, NULL)"),
}


@pytest.fixture(scope="module")
def spark(spark_server: Endpoint) -> Iterator[SparkSession]:
    session = connect(spark_server, str(uuid.uuid4()))
    yield session
    close(session)


def _hashes(spark: SparkSession, cases: Mapping[str, tuple[str, ...]]) -> dict[str, set[int]]:
    """The hashes of the values of each type, all in one query."""
    selects = [
        f"SELECT '{name}' AS t, {sql.row_hash((Column(name='v', type=name),))} AS h "
        f"FROM (SELECT CAST({value} AS {name}) AS v)"
        for name, values in cases.items()
        for value in values
    ]
    rows = spark.sql(" UNION ALL ".join(selects)).collect()
    return {name: {row.h for row in rows if row.t == name} for name in cases}


def test_values_that_are_equal_hash_alike(spark: SparkSession) -> None:
    assert {name: len(found) for name, found in _hashes(spark, _SAME).items()} == dict.fromkeys(_SAME, 1)


def test_values_that_differ_anywhere_hash_differently(spark: SparkSession) -> None:
    counted = {name: len(found) for name, found in _hashes(spark, _DIFFERENT).items()}

    assert counted == {name: len(values) for name, values in _DIFFERENT.items()}
