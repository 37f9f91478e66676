"""Desired content: the bound query as a DataFrame, with the columns and types of the target.

Each input becomes a temporary view at its pin; the query is run as written. Nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from airflow_refresh_provider.core.changes.reads import Read, quoted
from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE, Column, Columns, visible
from airflow_refresh_provider.core.plan.plan import Split, StagedTable, Target
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.acts import ddl, kernel, placing, sql
from airflow_refresh_provider.spark.acts.by_name import converted
from airflow_refresh_provider.spark.acts.positions import Only, only_chosen, without_deleted
from airflow_refresh_provider.spark.connect import faults
from airflow_refresh_provider.spark.connect.queries import NamedRows

_RANK = OP  # any reserved name will do: no column of a query can have it
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose rows have NULL in the column that it stands for."""
_TEXT = re.compile(r"(string|varchar|char)\b", re.IGNORECASE)
_PATTERN = re.compile(r"[\[\]{}*?\\]")
_MERGES = "spark.sql.parquet.mergeSchema"


def _all(rows: DataFrame) -> DataFrame:
    return rows


def result(spark: SparkSession, source: Source, split: Split | None = None) -> DataFrame:
    """The query's result as the query gives it; of one split of its only input if that is given."""
    reads = {name: read.of_files(split.files) if split else read for name, read in source.reads.items()}
    return over(spark, source, {name: _opened(spark, name, read) for name, read in reads.items()})


def columns(spark: SparkSession, source: Source) -> StructType:
    """The columns of the query's result, by one call; after an error by one for each input, so that it names this.

    Inputs whose columns are known are not opened: each is empty there.
    """
    try:
        named = NamedRows(spark)
        for name, read in source.reads.items():
            known = source.columns.get(name)
            named.name(name, _empty(spark, known) if known else rows(spark, read))
        return named.query(source.query).schema
    except faults.SPARK_ERRORS:
        return result(spark, source).schema


def _empty(spark: SparkSession, columns: Columns) -> DataFrame:
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {c.type}) AS {sql.name(c.name)}" for c in columns))


def over(spark: SparkSession, source: Source, reads: Mapping[str, DataFrame]) -> DataFrame:
    """The query's result over these inputs, their hidden columns left out."""
    for name, read in reads.items():
        with faults.reading(name):
            read.drop(*source.reads[name].hidden).createOrReplaceTempView(name)
    return spark.sql(source.query)


def shaped(rows: DataFrame, target: Target) -> DataFrame:
    """The visible columns of the target, by name and in its types."""
    columns = visible(target.columns)
    found = _types(rows) if any("struct<" in c.type for c in columns) else {}
    return rows.selectExpr(*(f"{_stored(c, target, found)} AS {sql.name(c.name)}" for c in columns))


def _types(rows: DataFrame) -> dict[str, str]:
    return {c.name.lower(): c.type for c in ddl.columns_of(rows.schema)}


def _stored(column: Column, target: Target, found: Mapping[str, str]) -> str:
    """A column as the target gives it back; `found` are the types that the values have, where they matter."""
    value = converted(sql.name(column.name), found.get(column.name.lower(), column.type), column.type)
    return stored(value, column, target)


def stored(value: str, column: Column, target: Target) -> str:
    """A value of a column's type as the target gives it back.

    The name of a folder cannot hold some texts: they are stored as NULL.
    """
    if column.name not in target.partition_by or not _TEXT.match(column.type):
        return value
    return f"nullif(nullif({value}, ''), '{_NO_VALUE}')"


def desired(
    spark: SparkSession, source: Source, target: Target, rows: StagedTable | None = None, split: Split | None = None
) -> DataFrame:
    """The visible columns of the target as they are to be, newest row of each key only if the source says so."""
    found = result(spark, source, split) if rows is None else staged(spark, rows, target)
    return newest(shaped(found, target), source)


def newest(rows: DataFrame, source: Source) -> DataFrame:
    """Only the newest row of each key, if the source asks for it; among equally new ones always the same."""
    if source.latest_by is None:
        return rows
    order = f"{sql.name(source.latest_by)} DESC NULLS LAST, {sql.row_hash(ddl.columns_of(rows.schema))}"
    ranked = f"row_number() OVER (PARTITION BY {sql.names(source.keys)} ORDER BY {order}) AS {_RANK}"
    return rows.selectExpr("*", ranked).where(F.col(_RANK) == 1).drop(_RANK)


def with_hidden(rows: DataFrame, source: Source, target: Target) -> DataFrame:
    """The rows with vnode and row hash added."""
    vnode, row_hash = placing.vnode(target, source.keys), sql.row_hash(target.columns)
    return rows.selectExpr("*", f"{vnode} AS {VNODE}", f"{row_hash} AS {ROW_HASH}")


def staged(spark: SparkSession, table: StagedTable, target: Target) -> DataFrame:
    """Staged rows, of a table at the version that was frozen."""
    if table.version is None:
        return staged_files(spark, (table.location,), target)
    return kernel.at_version(spark, table.location, table.version)


def staged_files(spark: SparkSession, files: tuple[str, ...], target: Target) -> DataFrame:
    """The rows of a staged change set, read from its files, or its folder, alone."""
    columns = ", ".join(f"{sql.name(c.name)} {c.type}" for c in visible(target.columns))
    schema = f"{columns}, {ROW_HASH} BIGINT, {OP} STRING, {VNODE} INT"
    return spark.read.schema(schema).parquet(*map(literally, files))


def kept(spark: SparkSession, rows: DataFrame, folder: str) -> DataFrame:
    """The same rows, computed once: written to a folder of parquet files, and read from there."""
    rows.write.mode("overwrite").parquet(folder)
    return spark.read.schema(rows.schema).parquet(literally(folder))


def at_version(spark: SparkSession, table: Target, version: int) -> DataFrame:
    """A target at one version."""
    if quoted(table.partition_by):
        return spark.read.format("delta").option(kernel.VERSION, version).load(table.location)
    return kernel.at_version(spark, table.location, version)


def _opened(spark: SparkSession, name: str, read: Read) -> DataFrame:
    with faults.reading(name):
        return load(spark, read)


def load(spark: SparkSession, read: Read, columns: StructType | None = None, only: Only = _all) -> DataFrame:
    """What a read of an input gives, or only some of its rows.

    `columns` are those of `read.columns_of` where they are known already.
    """
    found = _stored_rows(spark, read, columns)
    if read.chosen:
        return only_chosen(spark, found, read, only)
    return without_deleted(spark, found, read, only) if read.deleted else only(found)


def _stored_rows(spark: SparkSession, read: Read, columns: StructType | None) -> DataFrame:
    """The rows of a read, with deleted ones."""
    if read.format == "delta" and read.options.keys() == {kernel.VERSION} and not read.quoted_partitions:
        return kernel.at_version(spark, read.location, read.options[kernel.VERSION])
    reader = spark.read.format(read.format).options(**read.options)
    if read.schema_text is not None:
        reader = reader.schema(read.schema_text)
    elif read.columns_of is not None:
        reader = reader.schema(columns or load(spark, for_columns(spark, read.columns_of)).schema)
    return reader.load(list(map(literally, read.paths)) if read.paths else read.location)


def rows(spark: SparkSession, read: Read, only: Only = _all) -> DataFrame:
    """The rows of an input, or only some of them, without the hidden columns of a target."""
    return load(spark, read, only=only).drop(*read.hidden)


def for_columns(spark: SparkSession, read: Read) -> Read:
    """The same read, of few files where these are enough to find the columns of all."""
    return read if spark.conf.get(_MERGES, "false") == "true" else read.for_columns()


def literally(path: str) -> str:
    """A path in which no character is a pattern."""
    return _PATTERN.sub(r"\\\g<0>", path)
