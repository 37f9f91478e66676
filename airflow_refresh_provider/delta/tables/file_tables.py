"""Some files of a Delta table as a table of their own: a log of one commit that names them where they are.

Whatever a reader has to know to read them - column mapping, deletion vectors, partitions - stands in that commit as it
does in the log of the table, so it reads exactly their rows, and no other file. Nothing is copied. The log is written
once, by this module alone, and goes with the staging it lies in.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import obstore
from deltalake import DeltaTable

from airflow_refresh_provider.delta.storage.object_stores import is_local, make_store, storage
from airflow_refresh_provider.delta.tables.changed_files import File

_LOG = f"_delta_log/{0:020}.json"
_READING = "delta.columnMapping."
"""The properties of a table that a reader has to know."""

_OF_A_FILE = (
    "path", "partitionValues", "size", "modificationTime", "stats", "deletionVector", "baseRowId",
    "defaultRowCommitVersion",
)  # fmt: skip
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
BESIDE_TABLE = "u"
_ELSEWHERE = "p"
_UUID_LENGTH = 20
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def lay_out(table: DeltaTable, location: str, files: Iterable[File], place: str) -> None:
    """Make some files of the table at `location` a table at `place`."""
    lines = [{"protocol": _protocol(table)}, {"metaData": _metadata(table)}]
    lines += ({"add": named_elsewhere(file, location)} for file in files)
    with storage("listing changed files", place):
        obstore.put(make_store(place), _LOG, "".join(json.dumps(line) + "\n" for line in lines).encode())


def _protocol(table: DeltaTable) -> dict[str, Any]:
    protocol = table.protocol()
    features = {"readerFeatures": protocol.reader_features, "writerFeatures": protocol.writer_features}
    return {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        **{name: list(known) for name, known in features.items() if known is not None},
    }


def _metadata(table: DeltaTable) -> dict[str, Any]:
    about = table.metadata()
    return {
        "id": str(about.id),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": table.schema().to_json(),
        "partitionColumns": list(about.partition_columns),
        "configuration": {n: v for n, v in about.configuration.items() if n.startswith(_READING)},
    }


def named_elsewhere(file: File, location: str) -> File:
    """A file of the table at a location as another table has to name it."""
    root = _uri(location)
    named = {name: file[name] for name in _OF_A_FILE if file.get(name) is not None}
    named |= {"path": _absolute(file["path"], root), "dataChange": True}
    named.setdefault("modificationTime", 0)
    vector = file.get("deletionVector")
    if vector and vector["storageType"] == BESIDE_TABLE:
        place = f"{root}/{vector_file(vector['pathOrInlineDv'])}"
        named["deletionVector"] = vector | {"storageType": _ELSEWHERE, "pathOrInlineDv": place}
    return named


def _absolute(path: str, root: str) -> str:
    """Paths in a log are encoded as in URIs already."""
    return path if path.startswith("/") or _WITH_SCHEME.match(path) else f"{root}/{path}"


def _uri(location: str) -> str:
    if is_local(location):
        return Path(location).as_uri()
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{quote(rest, safe='/@:')}"


def vector_file(text: str) -> str:
    """Where the deletion vector of such a name lies: the name is a folder, if any, and a UUID in base 85 (Z85)."""
    folder, code = text[:-_UUID_LENGTH], text[-_UUID_LENGTH:]
    numbers = bytearray()
    for start in range(0, _UUID_LENGTH, 5):
        number = 0
        for digit in code[start : start + 5]:
            number = number * len(_DIGITS) + _DIGITS.index(digit)
        numbers += number.to_bytes(4, "big")
    return f"{quote(folder)}/deletion_vector_{uuid.UUID(bytes=bytes(numbers))}.bin".removeprefix("/")
