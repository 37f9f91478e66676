"""Delta tables as delta-rs opens them, and how many rows and bytes a version holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from airflow_refresh_provider.core.definition.columns import padded
from airflow_refresh_provider.core.definition.own_columns import Fill, OwnColumn
from airflow_refresh_provider.delta.storage.file_lists import hidden
from airflow_refresh_provider.delta.storage.object_stores import is_local, storage
from airflow_refresh_provider.delta.tables.deletion_vectors import hidden_rows

DELETION_VECTORS = "deletionVectors"

_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]+")
"""The log escapes other characters and names files elsewhere by URI; Spark reads folders with a `=` as partitions."""
_OF_WRITERS = frozenset({
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "rowTracking",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
})  # fmt: skip
"""Features that leave rows as the files have them; column mapping and deletion vectors are checked where used."""
_OF_PLAIN_WRITERS = frozenset({"appendOnly", "deletionVectors", "invariants"})
_PLAIN_WRITER = 2
"""The last writer version that knows none but the first and the last of these."""
COLUMN_MAPPING_READER = 2
"""The reader version that means column mapping, from before features had names."""
_GENERATED = "delta.generationExpression"
_EXPLICIT = "delta.identity.allowExplicitInsert"
_DEFAULT = "CURRENT_DEFAULT"
_INVARIANTS = "delta.invariants"
_BOUNDED = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata of a string column: the CHAR or VARCHAR type that it has or contains."""


def open_table(location: str, version: int | None = None) -> DeltaTable | None:
    """A table at a version (None = newest); None when there is no table."""
    with storage("opening the Delta table", location):
        if is_local(location) and not Path(location).is_dir():
            return None
        try:
            return DeltaTable(location, version=version)
        except TableNotFoundError:
            return None


def reader_features(table: DeltaTable) -> frozenset[str]:
    """Every table feature that a reader must know."""
    protocol = table.protocol()
    if protocol.min_reader_version == COLUMN_MAPPING_READER:
        return frozenset({"columnMapping"})
    return frozenset(protocol.reader_features or ())


def features(table: DeltaTable) -> frozenset[str]:
    """Every table feature that a reader or a writer must know."""
    protocol = table.protocol()
    return frozenset([*(protocol.reader_features or ()), *(protocol.writer_features or ())])


def writes_plainly(table: DeltaTable) -> bool:
    """Whether a writer has to write rows and no more: no change data, no row ids, no names of its own."""
    protocol, properties = table.protocol(), table.metadata().configuration
    if protocol.min_writer_version <= _PLAIN_WRITER:
        known = True
    else:
        known = bool(protocol.writer_features) and features(table) <= _OF_PLAIN_WRITERS
    appends_only = str(properties.get("delta.appendOnly", "false")).lower() == "true"
    schema = str(table.schema().to_json())
    return known and not appends_only and _BOUNDED not in schema and _INVARIANTS not in schema


def floating_columns(table: DeltaTable) -> tuple[str, ...]:
    """The columns that are or hold DOUBLE or FLOAT."""
    return tuple(f.name for f in table.schema().fields if _holds_floats(json.loads(f.type.to_json())))


def _holds_floats(type_: object) -> bool:
    """Whether a type, as a Delta log has it, is or holds DOUBLE or FLOAT."""
    if not isinstance(type_, dict):
        return type_ in ("double", "float")
    parts = [type_.get(part) for part in ("elementType", "keyType", "valueType")]
    return any(map(_holds_floats, [*parts, *(field["type"] for field in type_.get("fields", ()))]))


def padded_columns(table: DeltaTable) -> tuple[str, ...]:
    """The columns whose values Spark fills up when it reads the table."""
    return tuple(f.name for f in table.schema().fields if padded(str(f.metadata.get(_BOUNDED, ""))))


def own_columns(table: DeltaTable) -> tuple[OwnColumn, ...]:
    """The columns that the table fills itself, or that must have a value."""
    found = (
        OwnColumn(name=field.name, fill=_fill(field.metadata), required=not field.nullable)
        for field in table.schema().fields
    )
    return tuple(column for column in found if column.required or column.fill is not Fill.NULL)


def _fill(metadata: Mapping[str, Any]) -> Fill:
    """What a table writes into a column by its metadata, as Delta's protocol names it."""
    if _GENERATED in metadata:
        return Fill.GENERATED
    if _EXPLICIT in metadata:
        explicit = str(metadata[_EXPLICIT]).lower() == "true"
        return Fill.IDENTITY if explicit else Fill.IDENTITY_ALWAYS
    return Fill.DEFAULT if _DEFAULT in metadata else Fill.NULL


def plain_files(location: str, version: int) -> tuple[tuple[str, int], ...] | None:
    """(path, size) of the plain files that make up exactly a version's rows, None when no such list exists."""
    table = open_table(location, version)
    if table is None or not stored_plainly(table):
        return None
    if _hidden_rows(table, location) != 0:
        return None
    listed = listed_files(table)
    paths, sizes = listed["path"].to_pylist(), listed["size_bytes"].to_pylist()
    if any(not is_plain_path(path) or hidden(path) for path in paths):
        return None
    return tuple(sorted((f"{location}/{path}", size) for path, size in zip(paths, sizes, strict=True)))


def is_plain_path(path: str) -> bool:
    """Whether a path in a log is that of a file in the table's folder, as Spark's reader has it."""
    return not path.startswith("/") and _PLAIN_PATH.fullmatch(path) is not None


def stored_plainly(table: DeltaTable) -> bool:
    """Whether Spark reads the same in the table's files as in the table, but for deletion vectors."""
    return not table.metadata().partition_columns and not _needs_table(table)


def _needs_table(table: DeltaTable) -> bool:
    """Whether Spark would read the table's files otherwise than the table."""
    renamed = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    return renamed or not features(table) <= _OF_WRITERS or _BOUNDED in str(table.schema().to_json())


def listed_files(table: DeltaTable) -> Any:
    """The files of the version opened, as an Arrow table: path, size, statistics and values of partitions."""
    return table.get_add_actions(flatten=True)


def size_of(table: DeltaTable, location: str, files: Any) -> tuple[int | None, int]:
    """(rows, bytes) of the version opened, with these files; rows None when the log does not say."""
    counts = list(files["num_records"].to_pylist()) if "num_records" in files.column_names else []
    known = [int(count) for count in counts if count is not None]
    hidden = _hidden_rows(table, location) if len(known) == files.num_rows else None
    return (None if hidden is None else sum(known) - hidden), sum(files["size_bytes"].to_pylist())


def partitions_of(files: Any) -> int:
    """In how many partitions some files are, 0 where the table is not partitioned."""
    values = [files[name].to_pylist() for name in files.column_names if name.startswith("partition.")]
    return len(set(zip(*values, strict=True)))


def _hidden_rows(table: DeltaTable, location: str) -> int | None:
    """Rows that deletion vectors hide; None when it cannot be found out."""
    return hidden_rows(table, location) if DELETION_VECTORS in features(table) else 0
