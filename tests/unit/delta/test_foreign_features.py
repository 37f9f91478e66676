"""Tables with features that only Spark writes: their logs, as Spark 4.2 with Delta 4.4 writes them, can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog, facts_of
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.inputs.kinds import kind_of

LOG = DeltaTableLog()
_BOUNDED = "__CHAR_VARCHAR_TYPE_STRING"
Action = dict[str, Any]


def _created(
    reader: list[str], writer: list[str], *, partitioned: bool = False, physical: bool = False, padded: bool = False
) -> list[Action]:
    columns = ["id", "_vnode"] if partitioned else ["id"]
    fields = [{"name": c, "type": "integer", "nullable": True, "metadata": _metadata(c, physical)} for c in columns]
    if padded:
        metadata = {_BOUNDED: "char(5)"}
        fields.append({"name": "code", "type": "string", "nullable": True, "metadata": metadata})
    about = {
        "id": "0715bc40-ed25-4e72-be99-e582e487635f",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": columns[1:],
        "configuration": {"delta.columnMapping.mode": "name"} if physical else {},
        "createdTime": 1795256541209,
    }
    protocol: Action = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reader}
    return [
        {"commitInfo": {"timestamp": 1795256541261, "operation": "CREATE TABLE", "inCommitTimestamp": 1795256541261}},
        {"metaData": about},
        {"protocol": {**protocol, "writerFeatures": [*reader, *writer]}},
        {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}},
    ]


def _with_old_protocol(actions: list[Action]) -> list[Action]:
    old = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    return [old if "protocol" in action else action for action in actions]


def _metadata(column: str, physical: bool) -> Action:
    number = 1 if column == "id" else 2
    names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return names if physical else {}


def _added(path: str, rows: int, **more: Any) -> Action:
    file = {"path": path, "partitionValues": {}, "size": 1000, "modificationTime": 1795256541713, "dataChange": True}
    return {"add": {**file, "stats": json.dumps({"numRecords": rows}), **more}}


def _write(location: Path, *commits: list[Action]) -> None:
    folder = location / "_delta_log"
    folder.mkdir(parents=True)
    for version, actions in enumerate(commits):
        (folder / f"{version:020}.json").write_text("\n".join(json.dumps(a) for a in actions))


_EVERYTHING = _created(
    ["deletionVectors", "typeWidening", "v2Checkpoint"],
    ["clustering", "domainMetadata", "rowTracking", "inCommitTimestamp", "changeDataFeed", "identityColumns"],
)


def test_facts_of_a_table_with_every_feature_are_read(tmp_path: Path) -> None:
    tracked = {"baseRowId": 0, "defaultRowCommitVersion": 1, "clusteringProvider": "liquid"}
    _write(tmp_path / "t", _EVERYTHING, [_added("a.parquet", 50, **tracked)])
    (tmp_path / "t" / "_delta_log" / f"{1:020}.crc").write_text('{"numDeletedRecordsOpt": 10, "setTransactions": []}')
    facts = LOG.facts(str(tmp_path / "t"))
    assert facts is not None and facts.clustered
    assert (facts.version, facts.columns, facts.rows, facts.bytes) == (1, ("id",), 40, 1000)
    assert LOG.markers(str(tmp_path / "t")) == {}
    assert [c.net_rows for c in LOG.commits(str(tmp_path / "t"), after=0)] == [50]


def test_rows_are_unknown_when_neither_spark_nor_delta_rs_knows_the_deleted_ones(tmp_path: Path) -> None:
    hidden = {"storageType": "u", "pathOrInlineDv": "6mC*ygvvOMT%c+iUcS6G", "offset": 1, "sizeInBytes": 31}
    _write(tmp_path / "t", _EVERYTHING, [_added("a.parquet", 50, deletionVector={**hidden, "cardinality": 10})])
    facts = LOG.facts(str(tmp_path / "t"))
    assert facts is not None and facts.rows is None and facts.bytes == 1000


@pytest.mark.parametrize(
    "created",
    [
        _created(["columnMapping"], [], physical=True),
        _with_old_protocol(_created([], [], physical=True)),
        _created(["typeWidening"], []),
        _created(["variantType"], []),
        _created([], ["collations"]),
        _created([], ["aFeatureOfLaterWriters"]),
        _created([], [], partitioned=True),
        _created([], [], padded=True),
    ],
    ids=[
        "renamed columns",
        "renamed columns of an old protocol",
        "widened types",
        "variants",
        "collations",
        "a feature of later writers",
        "partitions",
        "padded text",
    ],
)
def test_files_that_spark_would_read_otherwise_are_not_given_as_plain_files(
    tmp_path: Path, created: list[Action]
) -> None:
    partitioned = bool(created[1]["metaData"]["partitionColumns"])
    _write(tmp_path / "t", created, [_added("a", 5, partitionValues={"_vnode": "1"} if partitioned else {})])
    probe = kind_of("delta")
    pin = probe.pin("orders", Input(path=str(tmp_path / "t")))
    assert probe.rows(pin) == 5 and probe.files(pin) is None


def test_columns_that_spark_pads_are_found_among_those_it_only_bounds(tmp_path: Path) -> None:
    types = {"a": "char(5)", "b": "varchar(5)", "c": "struct<`x char(`:varchar(2),y:char(3)>", "d": "array<varchar(4)>"}
    created = _created([], [])
    fields = [{"name": n, "type": "string", "nullable": True, "metadata": {_BOUNDED: t}} for n, t in types.items()]
    created[1]["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    _write(tmp_path / "t", created)
    facts = LOG.facts(str(tmp_path / "t"))
    assert facts is not None and facts.padded == ("a", "c")


@pytest.mark.parametrize("feature", ["geospatial", "adaptiveMetadata-preview", "catalogManaged"])
def test_a_table_that_delta_rs_cannot_read_is_no_trouble_of_the_storage(tmp_path: Path, feature: str) -> None:
    _write(tmp_path / "t", _created([feature], []), [_added("a.parquet", 5)])
    with pytest.raises(Failed) as caught:
        kind_of("delta").pin("orders", Input(path=str(tmp_path / "t")))
    assert caught.value.code == "table_unsupported" and str(tmp_path / "t") in caught.value.message


def test_files_with_deletion_vectors_are_not_given_as_plain_files_until_they_are_purged(tmp_path: Path) -> None:
    created = _created(["deletionVectors"], [])
    _write(tmp_path / "t", created, [_added("a.parquet", 50)], [_added("b.parquet", 5)])
    probe = kind_of("delta")
    for version, hidden in ((1, 0), (2, 10)):
        sums = json.dumps({"numDeletedRecordsOpt": hidden})
        (tmp_path / "t" / "_delta_log" / f"{version:020}.crc").write_text(sums)
    newest = probe.pin("orders", Input(path=str(tmp_path / "t")))
    assert newest.rows == 45 and probe.files(newest) is None
    assert probe.files(newest.model_copy(update={"version": 1})) == ((f"{tmp_path}/t/a.parquet", 1000),)


@pytest.mark.parametrize(
    "path",
    [
        "file:/other/table/a.parquet",
        "/other/table/a.parquet",
        "day=1/a.parquet",
        "_a.parquet",
        ".a.parquet",
        "a/_b.parquet",
        "_a/b.parquet",
        "a/.b/c.parquet",
        "a.parquet._COPYING_",
    ],
)
def test_files_elsewhere_in_folders_that_stand_for_columns_or_hidden_are_not_given_as_plain_files(
    tmp_path: Path, path: str
) -> None:
    _write(tmp_path / "t", _created([], []), [_added(path, 5)])
    probe = kind_of("delta")
    assert probe.files(probe.pin("orders", Input(path=str(tmp_path / "t")))) is None


def test_deleted_rows_are_those_stored_before_commits_without_files(tmp_path: Path) -> None:
    """As the seal of a refresh without changes, of which delta-rs writes no sums."""
    created, seal = _created(["deletionVectors"], []), [{"commitInfo": {"operation": "WRITE"}}]
    unread = {"storageType": "u", "pathOrInlineDv": "6mC*ygvvOMT%c+iUcS6G", "offset": 1, "sizeInBytes": 31}
    added = _added("a.parquet", 50, deletionVector={**unread, "cardinality": 10})
    _write(tmp_path / "t", created, [added], seal, seal, [_added("b.parquet", 5)], seal)
    (tmp_path / "t" / "_delta_log" / f"{1:020}.crc").write_text('{"numDeletedRecordsOpt": 10}')
    assert [_rows(tmp_path / "t", version) for version in (1, 2, 3, 4, 5)] == [40, 40, 40, None, None]


def _rows(location: Path, version: int) -> int | None:
    table = open_table(str(location), version)
    assert table is not None
    return facts_of(table, str(location)).rows
