"""The columns of a Delta table with their types in the words of Spark, read from the table's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.core.definition.columns import Column, Columns

_COLLATIONS = "__COLLATIONS"
"""Metadata of a column: the collations of the texts in it, by their path."""
_SPARK_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def quoted(name: str) -> str:
    """The name of a column or field in Spark's DDL."""
    return "`" + name.replace("`", "``") + "`"


def column_types(table: DeltaTable) -> Columns:
    """All columns of a table as Spark reads them: CHAR and VARCHAR are text."""
    return columns_of(json.loads(table.schema().to_json()))


def columns_of(schema: Mapping[str, Any]) -> Columns:
    """The columns of a struct, as a Delta log has it."""
    return tuple(Column(name=field["name"], type=_of_field(field)) for field in schema["fields"])


def _of_field(field: Mapping[str, Any]) -> str:
    return _text(field["type"], field["name"], (field.get("metadata") or {}).get(_COLLATIONS) or {})


def _text(kind: Any, path: str, collations: Mapping[str, str]) -> str:
    match kind:
        case "string":
            _provider, _, name = collations.get(path, "").partition(".")
            return f"string collate {name}" if name else "string"
        case str():
            return _SPARK_NAMES.get(kind, kind)
        case {"type": "array", "elementType": element}:
            return f"array<{_text(element, f'{path}.element', collations)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_text(key, f'{path}.key', collations)},{_text(value, f'{path}.value', collations)}>"
        case _:
            fields = (f"{quoted(f['name'])}:{_of_field(f)}" for f in kind["fields"])
            return f"struct<{','.join(fields)}>"
