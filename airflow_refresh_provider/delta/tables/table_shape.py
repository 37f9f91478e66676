"""The shape of a Delta table: what its metadata and protocol say about the rows that a reader sees.

Comments, statistics, constraints and most properties are no part of it: a commit that changes only these leaves every
row as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from deltalake import DeltaTable

from airflow_refresh_provider.core.run.ownership import layout_properties
from airflow_refresh_provider.delta.storage.log_files import LogFiles
from airflow_refresh_provider.delta.tables.delta_table import COLUMN_MAPPING_READER, open_table, reader_features
from airflow_refresh_provider.errors import Failed, Retry

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_OF_TYPE = "__"
"""Metadata of a column whose name begins so is a part of its type: the length of a VARCHAR, a collation."""


class TableShape(NamedTuple):
    """Which table it is, its columns, partition columns and layout, and the features that a reader has to know."""

    metadata: Any
    readers: frozenset[str]

    def after(self, by_kind: Mapping[str, list[Any]]) -> TableShape:
        """The shape once a commit with these actions is made."""
        metadata = [_of_metadata(m) for m in by_kind.get("metaData", ())]
        readers = [_of_protocol(p) for p in by_kind.get("protocol", ())]
        return TableShape((metadata or [self.metadata])[-1], (readers or [self.readers])[-1])


def shape_at(log: LogFiles, version: int) -> TableShape | None:
    """The shape of a version, None when the log does not say any more."""
    sums = log.checksum(version) or {}
    if "metadata" in sums and "protocol" in sums:
        return TableShape(_of_metadata(sums["metadata"]), _of_protocol(sums["protocol"]))
    try:
        table = open_table(log.location, version) if version >= 0 else None
    except (Failed, Retry):  # the checkpoint that an old version needs may be gone
        return None
    return _of_table(table) if table else None


def _of_table(table: DeltaTable) -> TableShape:
    about = table.metadata()
    return TableShape(
        _canonical(about.id, json.loads(table.schema().to_json()), about.partition_columns, dict(about.configuration)),
        reader_features(table),
    )


def _of_metadata(metadata: Mapping[str, Any]) -> Any:
    schema = json.loads(metadata.get("schemaString") or "{}")
    partitioned_by = metadata.get("partitionColumns") or ()
    return _canonical(metadata.get("id"), schema, partitioned_by, metadata.get("configuration") or {})


def _canonical(table_id: Any, schema: Any, partitioned_by: Iterable[str], properties: Mapping[str, str]) -> Any:
    return str(table_id), _type(schema), tuple(partitioned_by), tuple(sorted(layout_properties(properties).items()))


def _type(type_: Any) -> Any:
    """A type of a Delta schema, without what only describes it."""
    if not isinstance(type_, dict):
        return type_
    parts = [(part, _type(type_[part])) for part in ("elementType", "keyType", "valueType") if part in type_]
    return type_.get("type"), tuple(parts), tuple(map(_field, type_.get("fields", ())))


def _field(field: Mapping[str, Any]) -> Any:
    metadata = field.get("metadata") or {}
    bounds = sorted((key, str(value)) for key, value in metadata.items() if key.startswith(_OF_TYPE))
    return field["name"], metadata.get(_PHYSICAL_NAME, field["name"]), _type(field["type"]), tuple(bounds)


def _of_protocol(protocol: Mapping[str, Any]) -> frozenset[str]:
    if protocol.get("minReaderVersion") == COLUMN_MAPPING_READER:
        return frozenset({"columnMapping"})
    return frozenset(protocol.get("readerFeatures") or ())
