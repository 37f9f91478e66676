"""Touched values: from the changed rows of the inputs to the anchors, and what is read of inputs and target for these.

Which rows that are is decided by `core.maintain`; here its expressions become joins. Touched values are few, and are
broadcast.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH
from airflow_refresh_provider.core.maintain.binding import bound, changed_name, touching, use_name, wide_name
from airflow_refresh_provider.core.maintain.plan import Use
from airflow_refresh_provider.core.maintain.spans import restricting
from airflow_refresh_provider.ports.engine import Source, Touched, TouchTask
from airflow_refresh_provider.spark.acts import changed_rows, content, ddl, sql, touched_spans
from airflow_refresh_provider.spark.connect import faults

BROADCAST_MAX_VALUES = 1_000_000
"""Broadcast the touched values up to this many."""


def touch(spark: SparkSession, task: TouchTask) -> Touched:
    """Stage them, once."""
    _name_rows(spark, task)
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    routes = [route for route in task.maintenance.routes if route.input in task.changes]
    found = spark.sql(" UNION ALL ".join(touching(route, [c.type for c in anchors]) for route in routes))
    stored = (f"{content.stored(f'k{n}', anchor, task.target)} AS k{n}" for n, anchor in enumerate(anchors))
    found.selectExpr(*stored).distinct().write.mode("overwrite").parquet(task.location)
    staged = spark.read.parquet(content.literally(task.location))
    rows, spans = touched_spans.measured(staged, anchors)
    return Touched(location=task.location, maintenance=task.maintenance, rows=rows, spans=spans)


def result(spark: SparkSession, source: Source, touched: Touched) -> DataFrame:
    """The rows of the query's result for which all that is needed of the inputs was read; others may be incomplete."""
    values = _values(spark, touched)
    for number, use in enumerate(touched.maintenance.uses):
        with faults.reading(use.input):
            rows = content.load(spark, source.reads[use.input]).drop(*source.reads[use.input].hidden)
            _restricted(rows, use, values, touched).createOrReplaceTempView(use_name(number))
    return spark.sql(bound(source.query, touched.maintenance.uses))


def among(spark: SparkSession, rows: DataFrame, touched: Touched) -> DataFrame:
    """The rows of a result, or of the target, whose anchors are touched."""
    anchors = [sql.name(anchor) for anchor in touched.maintenance.anchors]
    conditions = [f"r.{anchor} <=> k.k{n}" for n, anchor in enumerate(anchors)]
    for n, spans in touched.spans.items():
        if condition := restricting(spans, anchors[n]):
            rows = rows.where(condition)
    return rows.alias("r").join(_values(spark, touched).alias("k"), F.expr(" AND ".join(conditions)), "left_semi")


def _values(spark: SparkSession, touched: Touched) -> DataFrame:
    rows = spark.read.parquet(content.literally(touched.location))
    return F.broadcast(rows) if _few(touched) else rows


def _few(touched: Touched) -> bool:
    return touched.rows <= BROADCAST_MAX_VALUES


def _restricted(rows: DataFrame, use: Use, values: DataFrame, touched: Touched) -> DataFrame:
    """The rows of an input that lead to touched anchors, in one of the ways in which the text reads them."""
    if use.restrictions is None:
        return rows
    if (within := _within_spans(use.restrictions, touched)) is not None:
        rows = rows.where(within)
    if len(use.restrictions) == 1:
        keys, same = _keys(use.restrictions[0], values, "")
        return rows.join(_small(keys, touched), F.expr(same), "left_semi")
    names = rows.columns
    for number, restriction in enumerate(use.restrictions):
        keys, same = _keys(restriction, values, f"{number}_")
        rows = rows.join(_small(keys.withColumn(_mark(number), F.lit(1)), touched), F.expr(same), "left")
    needed = " OR ".join(f"{_mark(number)} IS NOT NULL" for number in range(len(use.restrictions)))
    return rows.where(needed).select(*(F.col(sql.name(name)) for name in names))


def _keys(restriction: tuple[str | None, ...], values: DataFrame, prefix: str) -> tuple[DataFrame, str]:
    """The touched values of the anchors that a row leads to, and the condition that it does."""
    known = [(n, value) for n, value in enumerate(restriction) if value is not None]
    kinds = {field.name: ddl.type_text(field.dataType) for field in values.schema}
    keys = values.select(*(F.col(f"k{n}").alias(f"airflow_refresh_k{prefix}{n}") for n, _ in known)).distinct()
    same = (f"try_cast({value} AS {kinds[f'k{n}']}) <=> airflow_refresh_k{prefix}{n}" for n, value in known)
    return keys, " AND ".join(same)


def _mark(number: int) -> str:
    return f"airflow_refresh_found_{number}"


def _small(keys: DataFrame, touched: Touched) -> DataFrame:
    return F.broadcast(keys) if _few(touched) else keys


def _within_spans(restrictions: tuple[tuple[str | None, ...], ...], touched: Touched) -> str | None:
    """The condition that a row lies within the spans, in one of the ways; None where that is not known of one."""
    ways = []
    for restriction in restrictions:
        known = ((n, value) for n, value in enumerate(restriction) if value is not None and n in touched.spans)
        conditions = [c for n, value in known if (c := restricting(touched.spans[n], value)) is not None]
        if not conditions:
            return None
        ways.append(" AND ".join(conditions))
    return " OR ".join(f"({way})" for way in ways)


def _name_rows(spark: SparkSession, task: TouchTask) -> None:
    """Give the changed rows of each input a name, and those that changed rows are joined with."""
    went: dict[str, DataFrame] = {}
    for name, changes in task.changes.items():
        read = task.source.reads[name]
        with faults.reading(name):
            removed, added = (side.drop(*read.hidden) for side in changed_rows.sides(spark, read, changes))
            went[name] = removed
            _changed(task, name, removed, added).createOrReplaceTempView(changed_name(name))
    for name in {hop.input for route in task.maintenance.routes for hop in route.hops}:
        with faults.reading(name):
            rows = content.load(spark, task.source.reads[name]).drop(*task.source.reads[name].hidden)
            wide = rows.unionByName(went[name]) if name in went else rows
            wide.createOrReplaceTempView(wide_name(name))


def _changed(task: TouchTask, name: str, removed: DataFrame, added: DataFrame) -> DataFrame:
    """The changed rows of an input with the columns that count."""
    if partitions := task.by_partition.get(name):
        columns = [sql.name(column) for column in partitions]
        return removed.select(*columns).unionByName(added.select(*columns)).distinct()
    used = [sql.name(column) for column in task.maintenance.used.get(name) or removed.columns]
    return _net(removed.select(*used), added.select(*used))


def _net(removed: DataFrame, added: DataFrame) -> DataFrame:
    """The rows that are not both among the removed and the added ones: files have unchanged rows too."""
    signed = _signed(removed, -1).unionByName(_signed(added, 1))
    row = F.expr(f"struct(sum({OP}) AS net, any_value(row) AS row)").alias(OP)
    return signed.groupBy(ROW_HASH).agg(row).where(f"{OP}.net <> 0").select(f"{OP}.row.*")


def _signed(rows: DataFrame, sign: int) -> DataFrame:
    columns = ddl.columns_of(rows.schema)
    row = f"struct({', '.join(sql.name(c.name) for c in columns)}) AS row"
    return rows.selectExpr(row, f"{sql.row_hash(columns)} AS {ROW_HASH}", f"{sign} AS {OP}")
