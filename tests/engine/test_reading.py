"""Targets as other programs read them: the shown line returns exactly the rows of the query."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import deltalake
import polars
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake.exceptions import DeltaProtocolError

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.reading import ReadingLine
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "read"
DUCKDB = "1.5.5"
"""Its Delta extension is a package too; any other DuckDB downloads one when it is asked to read a Delta table."""
DUCKDB_READS = """
import json, sys
import duckdb
from duckdb_extensions import import_extension

import_extension("delta")
found = eval(sys.stdin.read(), {"duckdb": duckdb})
print(json.dumps({"columns": found.columns, "rows": sorted(found.fetchall())}))
"""
TARGETS: list[tuple[dict[str, Any], bool]] = [
    ({}, False), ({"layout": "vnode", "vnodes": 2}, False), ({"deletion_vectors": False}, True)
]  # fmt: skip
"""Fields of a definition, and whether the simplest line reads the target."""
KINDS = ["plain", "vnode", "no deletion vectors"]


def changed(given: dict[str, Any], spark: Endpoint, tmp_path: Path) -> tuple[dict[str, ReadingLine], pa.Table]:
    """A target of which some rows were updated, as its lines and the rows that it has."""
    source, target = str(tmp_path / "input"), str(tmp_path / "target")
    made = refreshes(Places(str(tmp_path / "control"), spark.url, str(tmp_path / "spark")))
    deltalake.write_deltalake(source, pa.table({"k": range(200), "v": [0] * 200}))
    made.register(
        Definition.build(
            name=NAME, target=target, query="SELECT * FROM x", inputs={"x": {"path": source}}, keys=["k"], **given
        )
    )
    for value in (1, 2):
        rows = pa.table({"k": range(200), "v": [value if k < 3 else 0 for k in range(200)]})
        deltalake.write_deltalake(source, rows, mode="overwrite")
        made.run(NAME, Request())
    return {one.program: one for one in made.reading(NAME)}, rows


@pytest.mark.parametrize(("given", "simple"), TARGETS, ids=KINDS)
def test_the_shown_line_reads_the_rows_of_a_target(
    given: dict[str, Any], simple: bool, spark_server: Endpoint, tmp_path: Path
) -> None:
    lines, rows = changed(given, spark_server, tmp_path)
    line, of_polars = lines["pandas"], lines["polars"]
    assert line.line is not None and of_polars.line is not None
    found = eval(line.line, {"deltalake": deltalake, "pyarrow": pa})
    assert list(found.columns) == ["k", "v"]
    assert found.sort_values("k").to_dict("list") == rows.to_pydict()
    assert eval(of_polars.line, {"polars": polars}).sort("k").to_dict(as_series=False) == rows.to_pydict()
    if simple:
        assert line.line.endswith(".to_pandas()") and line.reason is None
        return
    assert "deletionVectors" in (line.reason or "")
    with pytest.raises(DeltaProtocolError, match="deletionVectors"):
        deltalake.DeltaTable(tmp_path / "target").to_pandas()


@pytest.fixture(scope="module")
def with_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with DuckDB and its Delta extension."""
    place = tmp_path_factory.mktemp("duckdb") / "env"
    python, uv = place / "bin" / "python", Path(sys.executable).with_name("uv")
    wanted = (f"duckdb=={DUCKDB}", f"duckdb-extensions=={DUCKDB}", f"duckdb-extension-delta=={DUCKDB}")
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(place)],
        [str(uv), "pip", "install", "--quiet", "--python", str(python), *wanted],
    ):
        subprocess.run(command, check=True, timeout=300)
    return python


@pytest.mark.slow
@pytest.mark.parametrize("given", [given for given, _ in TARGETS], ids=KINDS)
def test_the_shown_line_reads_the_rows_of_a_target_with_duckdb(
    given: dict[str, Any], with_duckdb: Path, spark_server: Endpoint, tmp_path: Path
) -> None:
    lines, rows = changed(given, spark_server, tmp_path)
    line = lines["duckdb"].line
    assert line is not None
    home = {**os.environ, "HOME": str(tmp_path)}  # DuckDB installs extensions there
    command = [str(with_duckdb), "-c", DUCKDB_READS]
    done = subprocess.run(command, input=line, env=home, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = sorted(map(list, zip(*rows.to_pydict().values(), strict=True)))
    assert json.loads(done.stdout) == {"columns": ["k", "v"], "rows": expected}
