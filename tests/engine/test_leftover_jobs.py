"""Jobs that an interrupted statement leaves behind: the embedded server ends them, and no others."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.connect.sessions import close, connect
from airflow_refresh_provider.spark.server import launch
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

_SECONDS = 4
"""How long the running statement takes: several times what the server needs to find a leftover job."""


@pytest.mark.slow
def test_a_job_without_its_statement_is_cancelled_and_jobs_of_statements_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "DRIVER", Path(__file__).with_name("leftover_driver.py"))
    server = EmbeddedServer(tmp_path, ServerOptions(memory="1g"))
    try:
        session = connect(server.ensure(), str(uuid.uuid4()))
        slow = session.range(0, 1, 1, 1).selectExpr(f"reflect('java.lang.Thread', 'sleep', {_SECONDS}000L)")
        assert len(slow.collect()) == 1
        end = _end_of_the_leftover(tmp_path / "scratch" / "end")
        close(session)
    finally:
        server.stop()
    assert "cancelled job tag" in end


def _end_of_the_leftover(report: Path) -> str:
    limit = time.monotonic() + 30
    while not report.exists():
        assert time.monotonic() < limit, "the job goes on"
        time.sleep(0.1)
    return report.read_text("utf-8")
