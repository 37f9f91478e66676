"""What an embedded server keeps of refreshes that are over has a limit, as each run has a staging table of its own."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.spark.connect.sessions import close, connect
from airflow_refresh_provider.spark.server import launch
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

_TABLES, _JOBS = 130, 70
"""More than a server keeps of them."""


@pytest.mark.slow
def test_a_server_keeps_the_last_tables_and_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "DRIVER", Path(__file__).with_name("reporting_driver.py"))
    for number in range(_TABLES):
        write_deltalake(str(tmp_path / "lake" / str(number)), pa.table({"id": [number]}))
    server = EmbeddedServer(tmp_path / "home", ServerOptions(memory="1g"))
    try:
        session = connect(server.ensure(), str(uuid.uuid4()))
        tables = " UNION ALL ".join(f"SELECT * FROM delta.`{path}`" for path in (tmp_path / "lake").iterdir())
        assert session.sql(tables).columns == ["id"]
        for _ in range(_JOBS):
            session.range(1).collect()
        time.sleep(2)
        kept = json.loads((tmp_path / "home" / "scratch" / "kept.json").read_text("utf-8"))
        close(session)
    finally:
        server.stop()
    assert 20 < kept["jobs"] <= 50
    assert 50 < kept["logs"] <= 100
