"""Sums of floating point differ in their last digits from run to run: that is no change, anything else is one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.columns import ROW_HASH
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.query_notices import FLOAT_SUM
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.acts.near import near
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.testing.memory_rows import near as near_in_memory
from tests.engine.acts import Lake, source

_EQUAL = [("0.0D", "-0.0D"), ("double('NaN')", "double('NaN')"), ("double('Infinity')", "double('Infinity')")]
_EQUAL += [("NULL", "NULL")]
_NEAR = [("1.0D", "1.00000000000001D"), ("-2.5D", "-2.5000000000000004D"), ("1.7D", "1.7000000000000002D")]
_NEAR += [("1e308D", "1.00000000000001e308D")]
_FAR = [("1.0D", "1.000000000001D"), ("0.0D", "1e-300D"), ("5e-324D", "1e-323D"), ("1.0D", "-1.0D"), ("NULL", "0.0D")]
_FAR += [("double('NaN')", "1.0D"), ("double('Infinity')", "double('-Infinity')"), ("double('Infinity')", "1e308D")]
_SHAPES = 5
_QUERY = (
    "SELECT k, if(k % 5 = 0, v, 1.0D) AS d, array(NULL, if(k % 5 = 1, v, 1.0D)) AS a, "
    "named_struct('a b', if(k % 5 = 2, v, 1.0D), 'n', k) AS s, map('x', 1.0D, 'y', if(k % 5 = 3, v, 1.0D)) AS m, "
    "array(named_struct('m', map(1, array(if(k % 5 = 4, v, 1.0D))))) AS `de``ep` FROM VALUES {rows} AS t(k, v)"
)
_INEXACT = {"inexact": ("d", "a", "s", "m", "de`ep"), "tolerance": 1e-13, "row_wise": False}
_OTHER = (
    "SELECT id AS k, if(id = 0, {v}, 1) AS other, 1.0D + {v} * 2.220446049250313E-16D AS d, "
    "if(id = 1, if({v} = 0, array(1.0D), array(1.0D, 1.0D)), NULL) AS a, "
    "if(id = 2, map({v}, 1.0D), NULL) AS m, if(id = 3, named_struct('n', {v}, 'd', 1.0D), NULL) AS s, "
    "if(id = 4 AND {v} = 0, NULL, named_struct('n', 0, 'd', CAST(NULL AS DOUBLE))) AS t FROM range(6)"
)


def _pairs(then: int) -> Source:
    """Each value in each shape, before or after."""
    values = [pair[then] for pair in (*_EQUAL, *_NEAR, *_FAR) for _ in range(_SHAPES)]
    rows = ", ".join(f"({k}, CAST({value} AS DOUBLE))" for k, value in enumerate(values))
    return source(_QUERY.format(rows=rows), "k")


@pytest.mark.parametrize("by_vnode", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_difference_within_the_tolerance_is_counted_and_left_as_it_is(lake: Lake, by_vnode: bool) -> None:
    first, then = _pairs(0), _pairs(1)
    target = lake.target(first, by_vnode=by_vnode)
    lake.load(target, first)

    compared = lake.compare(target, then, **_INEXACT)
    lake.apply(target, then, compared, Way.MERGE)

    assert compared.total == ChangeCounts(updated=_SHAPES * len(_FAR))
    assert compared.within_tolerance == _SHAPES * len(_NEAR)
    again = lake.compare(target, then, **_INEXACT)
    assert (again.total, again.within_tolerance) == (ChangeCounts(), _SHAPES * len(_NEAR))
    assert lake.compare(target, then, row_wise=False).total == ChangeCounts(updated=_SHAPES * len(_NEAR))
    if by_vnode:  # the stored hash of a row is still that of the values it has
        right = f"{ROW_HASH} = {sql.row_hash(target.columns)}"
        assert lake.spark.read.format("delta").load(target.location).where(f"NOT {right}").isEmpty()


def test_whatever_else_has_changed_in_the_row_is_a_change(lake: Lake) -> None:
    first, then = (source(_OTHER.format(v=v), "k") for v in (0, 1))
    target = lake.target(first)
    lake.load(target, first)

    compared = lake.compare(target, then, inexact=("d", "a", "m", "s", "t"), tolerance=1e-13, row_wise=False)

    assert (compared.total, compared.within_tolerance) == (ChangeCounts(updated=5), 1)


_KINDS = {"d": "double", "s": "struct<`f g`:double,n:int>", "l": "array<double>", "m": "map<string,array<double>>"}


def _in_all_kinds(value: str) -> str:
    nested = f"'s', named_struct('f g', {value}, 'n', 1), 'l', array({value}), 'm', map('k', array({value}))"
    return f"named_struct('d', {value}, {nested})"


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-13, 1e-9, 0.5])
def test_any_two_numbers_are_near_each_other_exactly_where_the_fake_says_so(lake: Lake, tolerance: float) -> None:
    draw = random.Random(tolerance)
    special = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.7976931348623157e308, 1.0, -1.0]
    pairs = [(a, b) for a in special for b in special]
    for _ in range(3000):
        a = draw.choice((-1, 1)) * draw.random() * 10.0 ** draw.randint(-300, 300)
        pairs.append((a, a * (1 + draw.choice((-1, 1)) * tolerance * draw.uniform(0.5, 1.5))))
    rows = lake.spark.createDataFrame(pairs, "a DOUBLE, b DOUBLE")

    shapes = [f"{near(f'x.{n}', f'y.{n}', kind, tolerance)} AS n{i}" for i, (n, kind) in enumerate(_KINDS.items())]
    both = rows.selectExpr("a", "b", f"{_in_all_kinds('a')} AS x", f"{_in_all_kinds('b')} AS y")
    found = both.selectExpr("a", "b", *shapes).collect()

    assert len(found) == len(pairs)
    assert {row.n0 for row in found} == {True, False}
    assert not [row for row in found if set(row[2:]) != {near_in_memory(row.a, row.b, tolerance)}]


_SUMS = "SELECT g, sum(v) AS total, avg(v) AS mean, stddev(v) AS spread, max(v) AS top, count(*) AS n FROM x GROUP BY g"


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["plain", "vnode"])
def test_a_refresh_of_sums_over_rows_in_another_order_writes_only_what_changed(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, layout: str
) -> None:
    spark, place = open_session(), f"delta.`{tmp_path}/input`"
    rows = "SELECT id % 46 AS g, rand(7) * pow(10, id % 9) AS v, id FROM range(200000)"
    spark.sql(f"CREATE TABLE {place} USING delta AS {rows}").collect()
    runner = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    inputs = {"x": {"path": str(tmp_path / "input")}}

    def register(name: str, **fields: object) -> None:
        target = str(tmp_path / name)
        runner.register(
            Definition.build(
                name=name, target=target, query=_SUMS, inputs=inputs, keys=["g"], layout=layout, vnodes=4, **fields
            )
        )
        runner.run(name, Request())

    register("near")
    register("bits", float_tolerance=0)
    spark.sql(f"INSERT OVERWRITE {place} SELECT /*+ REPARTITION(7) */ * FROM {place} ORDER BY hash(id)").collect()

    noise = runner.run("near", Request())
    assert noise.rows == Rows(unchanged=46)
    assert noise.within_tolerance > 30
    assert runner.compare_only("near").equal
    bits = runner.run("bits", Request())
    assert (bits.rows.updated > 30, bits.within_tolerance) == (True, 0)

    spark.sql(f"UPDATE {place} SET v = v + 1 WHERE id IN (3, 4)").collect()
    spark.sql(f"INSERT OVERWRITE {place} SELECT /*+ REPARTITION(5) */ * FROM {place} ORDER BY hash(id, 1)").collect()
    changed = runner.run("near", Request())
    assert (changed.rows.updated, changed.rows.unchanged) == (2, 44)
    assert changed.within_tolerance > 30
    differences = runner.compare_only("near")
    assert differences.equal
    [note] = runner.show("near").notices
    assert note.code == FLOAT_SUM
    assert "total, mean, spread" in note.message
    assert "top" not in note.message
