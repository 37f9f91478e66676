"""What of values stands in files on disk after real refreshes: of variables in places of inputs, and of keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.acts import Lake, source

MARKER = "tenant-7f3a9c"
NAME = "kept"


def texts(folder: Path) -> str:
    """The names and everything readable of the files of a folder; rows of parquet files as they are."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        rows = pq.ParquetFile(path).read().to_pylist() if path.suffix == ".parquet" else None
        found.append(f"{path.relative_to(folder)}\n{path.read_bytes().decode(errors='replace')}\n{rows}")
    return "\n".join(found)


@pytest.mark.parametrize("format", ["delta", "parquet"])
def test_a_value_of_a_variable_is_in_no_file_of_control_tables_and_target(
    format: str,
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    spark_server: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark, place, target = open_session(), str(tmp_path / MARKER / "orders"), str(tmp_path / "target")
    monkeypatch.setenv("SECRET_PART", MARKER)
    written = f"{tmp_path}/${{SECRET_PART}}/orders"

    def land(first: int, upto: int) -> None:
        spark.range(first, upto).selectExpr("id AS k", "id AS v").write.format(format).mode("append").save(place)

    def do(act: Callable[[Refreshes], Any]) -> str:
        """An act in a process of its own; what it returns."""
        places = Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark"))
        return str(act(refreshes(places)))

    land(0, 40)
    land(40, 90)
    given: dict[str, Any] = {
        "name": NAME,
        "target": target,
        "query": "SELECT k, v FROM x",
        "inputs": {"x": {"path": written, "format": format}},
        "keys": ["k"],
        "mode": "incremental",
        "visibility": "live",
        "chunking": {"one_commit_up_to": 10, "chunk_rows": 10},
    }
    shown = [do(lambda r: r.register(Definition.build(**given))), do(lambda r: r.run(NAME, Request()))]
    land(90, 95)
    shown += [do(lambda r: r.run(NAME, Request())), do(lambda r: r.run(NAME, Request(force=True)))]
    assert "mode='incremental'" in shown[2]
    # A duplicate key fails the next refresh, a file that is gone the one after it.
    land(94, 95)
    with pytest.raises(Failed, match="such as k=94"):
        do(lambda r: r.run(NAME, Request(scheduled=True)))
    (tmp_path / MARKER).rename(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="orders") as gone:
        do(lambda r: r.run(NAME, Request(scheduled=True)))
    shown += [str(gone.value), do(lambda r: r.show(NAME)), do(lambda r: r.history(NAME)), do(lambda r: r.statuses())]
    assert spark.read.format("delta").load(target).count() == 95
    assert written in str(gone.value)

    kept = texts(tmp_path / "control") + texts(Path(target))
    assert MARKER not in kept and MARKER not in "".join(shown)
    assert written in kept
    assert "such as #" in kept and "such as k=94" not in kept


@pytest.mark.parametrize(
    ("way", "by_vnode", "keys"),
    [
        (Way.KEYED_REPLACE, False, True),
        (Way.KEYED_REPLACE, True, True),
        (Way.REPLACE_ON, False, False),
        (Way.MERGE, False, False),
        (Way.REPLACE_VNODES, True, False),
        (Way.REPLACE_TABLE, False, False),
        (Way.REWRITE, False, False),
    ],
)
def test_what_delta_writes_of_keys_into_the_operation_of_a_commit(
    lake: Lake, way: Way, by_vnode: bool, keys: bool
) -> None:
    """docs/guarantees.md says so."""
    before = source("SELECT concat('person-', id) AS k, id AS v FROM range(20)", "k")
    after = source("SELECT concat('person-', id) AS k, if(id < 4, 0, id) AS v FROM range(20)", "k")
    target = lake.target(before, by_vnode=by_vnode)
    lake.load(target, before)
    lake.refresh(target, after, way)
    log = Path(target.location) / "_delta_log" / f"{lake.log.newest(target.location):020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    [operation] = [a["commitInfo"]["operationParameters"] for a in actions if "commitInfo" in a]
    assert ("person-" in json.dumps(operation)) is keys
    statistics = [a["add"]["stats"] for a in actions if "add" in a and a["add"].get("stats")]
    assert any("person-" in text for text in statistics)


def test_a_merge_on_a_number_has_the_range_of_the_changed_keys_in_its_operation(lake: Lake) -> None:
    before = source("SELECT 7000 + id AS k, id AS v FROM range(20)", "k")
    after = source("SELECT 7000 + id AS k, if(id BETWEEN 3 AND 8, -1, id) AS v FROM range(20)", "k")
    target = lake.target(before)
    lake.load(target, before)
    lake.refresh(target, after, Way.MERGE)
    log = Path(target.location) / "_delta_log" / f"{lake.log.newest(target.location):020}.json"
    [operation] = [
        json.dumps(json.loads(line)["commitInfo"]["operationParameters"])
        for line in log.read_text().splitlines()
        if "commitInfo" in line
    ]
    assert "7003" in operation and "7008" in operation and "7004" not in operation
