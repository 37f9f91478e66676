"""Targets are created, given other columns and described. Every statement is repeatable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from airflow_refresh_provider.core.definition.columns import HIDDEN, Column, Columns
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.definition.schema_change import FieldChange
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.tasks import TargetSpec
from airflow_refresh_provider.spark.acts import sql

_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")
_MAPPED = {"delta.columnMapping.mode": "name"}
_NESTED_NAME = re.compile(r"`((?:[^`]|``)*)`")


def columns_of(schema: StructType) -> Columns:
    """Names and types of a schema. Raises Invalid for a column without a type."""
    for field in schema.fields:
        if _untyped(field.dataType):
            raise Invalid(
                "untyped_column",
                f"the query's result has the column {field.name}, whose type is or contains void: a NULL "
                "without a type",
                next=f"Give it one in the query, such as CAST(NULL AS STRING) AS {field.name}.",
            )
    return tuple(Column(name=f.name, type=type_text(f.dataType)) for f in schema.fields)


def _untyped(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_untyped(f.dataType) for f in kind.fields)
        case ArrayType():
            return _untyped(kind.elementType)
        case MapType():
            return _untyped(kind.keyType) or _untyped(kind.valueType)
        case _:
            return isinstance(kind, NullType)


def type_text(kind: DataType) -> str:
    """A type as SQL text, names of nested fields quoted."""
    match kind:
        case StructType():
            return f"struct<{','.join(f'{sql.name(f.name)}:{type_text(f.dataType)}' for f in kind.fields)}>"
        case ArrayType():
            return f"array<{type_text(kind.elementType)}>"
        case MapType():
            return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
        case _:
            return str(kind.simpleString())


def prepare(spark: SparkSession, spec: TargetSpec) -> None:
    """Create the target if it is absent, and set those of its properties that differ."""
    columns = ", ".join(f"{sql.name(c.name)} {c.type}" for c in spec.columns)
    layout = f" PARTITIONED BY ({sql.names(spec.partition_by)})" if spec.partition_by else ""
    layout += f" CLUSTER BY ({sql.names(spec.cluster_by)})" if spec.cluster_by else ""
    properties = _listed(naming(spec.columns) | spec.properties)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {sql.table(spec.location)} ({columns}) USING delta{layout} "
        f"TBLPROPERTIES ({properties})"
    ).collect()
    _set(spark, spec.location, spec.properties)


def evolve(spark: SparkSession, location: str, evolution: Evolution) -> None:
    """Add, widen and drop columns and nested fields; what is done already is left out."""
    present = dict(_types(spark.read.format("delta").load(location).schema))
    table = f"ALTER TABLE {sql.table(location)}"
    if added := [c for c in evolution.added if _key(c) not in present]:
        _set(spark, location, naming(tuple(Column(name=c.path[-1], type=c.type) for c in added)))
        listed = ", ".join(f"{_path(c)} {c.type}" for c in added)
        spark.sql(f"{table} ADD COLUMNS ({listed})").collect()
    if widened := [c for c in evolution.widened if present.get(_key(c)) != c.type]:
        _set(spark, location, {"delta.enableTypeWidening": "true"})
        for column in widened:
            spark.sql(f"{table} ALTER COLUMN {_path(column)} TYPE {column.type}").collect()
    if dropped := [c for c in evolution.dropped if _key(c) in present]:
        _set(spark, location, _MAPPED)
        spark.sql(f"{table} DROP COLUMNS ({', '.join(map(_path, dropped))})").collect()


def _types(kind: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every column and nested field of a type: its path in lower case, and its type."""
    match kind:
        case StructType():
            parts = [(f.name.lower(), f.dataType) for f in kind.fields]
        case ArrayType():
            parts = [("element", kind.elementType)]
        case MapType():
            parts = [("key", kind.keyType), ("value", kind.valueType)]
        case _:
            parts = []
    for name, part in parts:
        yield (*path, name), type_text(part)
        yield from _types(part, (*path, name))


def _key(column: FieldChange) -> tuple[str, ...]:
    return tuple(name.lower() for name in column.path)


def _path(column: FieldChange) -> str:
    return ".".join(map(sql.name, column.path))


def naming(columns: Columns) -> dict[str, str]:
    """The table properties that these columns need: column mapping for names that parquet cannot have."""
    names = (name for c in columns for name in (c.name, *_NESTED_NAME.findall(c.type)))
    return _MAPPED if any(_NEEDS_MAPPING.search(name) for name in names) else {}


def show_version(spark: SparkSession, view: str, location: str, version: int, columns: Columns) -> None:
    """Create or replace a catalog view on one version."""
    shown = sql.names(c.name for c in columns if c.name not in HIDDEN)
    name = ".".join(sql.name(part) for part in view.split("."))
    spark.sql(
        f"CREATE OR REPLACE VIEW {name} AS SELECT {shown} FROM {sql.table(location)} VERSION AS OF {version}"
    ).collect()


def _set(spark: SparkSession, location: str, properties: dict[str, str]) -> None:
    """Set those properties that differ."""
    if not properties:
        return
    table = sql.table(location)
    present = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    if wanting := {k: v for k, v in properties.items() if present.get(k) != v}:
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({_listed(wanting)})").collect()


def _listed(properties: dict[str, str]) -> str:
    return ", ".join(f"{sql.text(k)} = {sql.text(v)}" for k, v in sorted(properties.items()))
