"""The lines that read a target with other programs, typed as they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from airflow_refresh_provider.core.run.reading import ReadingLine, ReadTable, lines_of

VECTORS = frozenset({"deletionVectors"})


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A table of two versions, whose path has to be quoted."""
    place = str(tmp_path / "it's here")
    for rows in ([1, 2], [1, 2, 3]):
        found = pa.table({"id": rows, "_vnode": [0] * len(rows), "_row_hash": rows})
        deltalake.write_deltalake(place, found, mode="overwrite")
    return place


def lines(location: str, features: frozenset[str] = frozenset(), *hidden: str) -> dict[str, ReadingLine]:
    read = ReadTable(location=location, version=0, features=features, hidden=hidden)
    return {one.program: one for one in lines_of(read)}


def typed(line: str | None) -> Any:
    """What the line returns in a program that has imported the modules that it names."""
    assert line is not None
    return eval(line, {"deltalake": deltalake, "pyarrow": pa})


@pytest.mark.parametrize("features", [frozenset(), VECTORS])
def test_pandas_reads_the_published_version_without_hidden_columns(table: str, features: frozenset[str]) -> None:
    found = lines(table, features, "_vnode", "_row_hash")["pandas"]
    assert typed(found.line).to_dict("list") == {"id": [1, 2]}
    assert set(typed(lines(table, features)["pandas"].line).columns) == {"id", "_vnode", "_row_hash"}


def test_deletion_vectors_keep_the_simple_line_from_pandas_and_say_so() -> None:
    assert lines("/t")["pandas"].line == "deltalake.DeltaTable('/t', version=0).to_pandas()"
    found = lines("/t", VECTORS)["pandas"]
    assert "QueryBuilder" in (found.line or "")
    assert "deletionVectors" in (found.reason or "")


def test_polars_reads_deletion_vectors_but_no_mapped_columns() -> None:
    found = lines("/t", VECTORS, "_vnode")["polars"]
    assert (found.line, found.reason) == ("polars.read_delta('/t', version=0).drop('_vnode')", None)
    refused = lines("/t", VECTORS | {"columnMapping"})["polars"]
    assert (refused.line, refused.reason) == (None, "the table has columnMapping, which polars does not read")


def test_duckdb_scans_the_version() -> None:
    assert lines("/it's", VECTORS, "_vnode")["duckdb"].line == (
        "duckdb.sql(\"SELECT * EXCLUDE (_vnode) FROM delta_scan('/it''s', version => 0)\")"
    )
