"""Which commits change what readers see of the rows, and which only describe the table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_refresh_provider.delta.storage.log_files import list_log
from airflow_refresh_provider.delta.tables.actions import commit_of, grouped
from airflow_refresh_provider.delta.tables.table_shape import TableShape, shape_at

Action = dict[str, Any]

CONSTRAINT: dict[str, Any] = {"delta.constraints.positive": "k > 0"}
VNODES: dict[str, Any] = {"airflow_refresh.vnodes": "8"}
OWNER: dict[str, Any] = {"airflow_refresh.control": "c", "airflow_refresh.definition": "d"}


def field(name: str, type_: Any = "integer", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def metadata(*fields: dict[str, Any], parted: tuple[str, ...] = (), **properties: Any) -> Action:
    schema = json.dumps(struct(*fields))
    return {"metaData": {"id": "t", "schemaString": schema, "partitionColumns": parted, "configuration": properties}}


def protocol(*readers: str, writers: tuple[str, ...] = ()) -> Action:
    features = {"readerFeatures": list(readers), "writerFeatures": [*readers, *writers]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}


BEFORE = [metadata(field("k"), field("s", struct(field("a")))), protocol("deletionVectors")]


def reshaped(*actions: Action) -> bool:
    before = TableShape((), frozenset()).after(grouped(BEFORE))
    return commit_of(1, grouped(actions), before).reshaped


@pytest.mark.parametrize(
    "action",
    [
        metadata(field("k", comment="the key"), field("s", struct(field("a", comment="inside")))),
        metadata(field("k"), field("s", struct(field("a"))), **OWNER),
        metadata(field("k"), field("s", struct(field("a"))), **CONSTRAINT),
        metadata(
            field("k", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "k"}),
            field("s", struct(field("a"))),
        ),
        protocol("deletionVectors", writers=("changeDataFeed",)),
        {"commitInfo": {"operation": "COMPUTE STATS"}},
    ],
    ids=["comments", "owner", "constraint", "column mapping turned on", "feature of writers", "nothing"],
)
def test_what_only_describes_a_table_leaves_its_rows_as_they_are(action: Action) -> None:
    assert not reshaped(action)


@pytest.mark.parametrize(
    "action",
    [
        metadata(field("k"), field("s", struct(field("a"))), field("new")),
        metadata(field("k"), field("s", struct(field("a"), field("b")))),
        metadata(field("k", "long"), field("s", struct(field("a")))),
        metadata(field("k", **{"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}), field("s", struct(field("a")))),
        metadata(field("k", **{"delta.columnMapping.physicalName": "col-1"}), field("s", struct(field("a")))),
        metadata(field("k"), field("s", struct(field("a"))), parted=("k",)),
        metadata(field("k"), field("s", struct(field("a"))), **VNODES),
        protocol("deletionVectors", "typeWidening"),
    ],
    ids=["added", "nested", "retyped", "padded", "dropped and added again", "partitioned", "laid out", "readers"],
)
def test_what_readers_see_otherwise_is_another_shape(action: Action) -> None:
    assert reshaped(action)


def test_a_change_of_a_table_whose_shape_is_not_known_counts() -> None:
    assert commit_of(1, grouped([BEFORE[0]]), None).reshaped
    assert not commit_of(1, grouped([{"txn": {"appId": "a", "version": 1}}]), None).reshaped


def test_the_shape_of_a_version_is_the_same_by_checksum_and_by_table(tmp_path: Any) -> None:
    """Spark writes checksums, other writers may not."""
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    commit = "\n".join(map(json.dumps, [*BEFORE, {"commitInfo": {"operation": "CREATE TABLE"}}]))
    commit = commit.replace('"id": "t"', '"id": "t", "format": {"provider": "parquet", "options": {}}')
    (folder / f"{0:020}.json").write_text(commit)
    log = list_log(str(tmp_path))
    assert log is not None
    by_table = shape_at(log, 0)
    (folder / f"{0:020}.crc").write_text(json.dumps({**BEFORE[0], **BEFORE[1]}).replace("metaData", "metadata"))
    again = list_log(str(tmp_path))
    assert again is not None
    assert by_table == shape_at(again, 0) == TableShape((), frozenset()).after(grouped(BEFORE))
    assert shape_at(again, 7) is None
