"""Targets as other programs read them: the shown line returns exactly the rows of the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import polars
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake.exceptions import DeltaProtocolError

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "read"


@pytest.mark.parametrize(
    ("given", "simple"),
    [({}, False), ({"layout": "vnode", "vnodes": 2}, False), ({"deletion_vectors": False}, True)],
    ids=["plain", "vnode", "no deletion vectors"],
)
def test_the_shown_line_reads_the_rows_of_a_target(
    given: dict[str, Any], simple: bool, spark_server: Endpoint, tmp_path: Path
) -> None:
    source, target = str(tmp_path / "input"), str(tmp_path / "target")
    made = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
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
    lines = {one.program: one for one in made.reading(NAME)}
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
        deltalake.DeltaTable(target).to_pandas()
