"""What a statsd server hears of refreshes when Airflow's configuration names one: the lines as they arrive."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_refresh_provider.operators import metrics
from tests.airflow.conftest import DAGS
from tests.airflow.shared import Shared
from tests.unit.runner.world import NAME

ROOT = Path(__file__).parents[2]
SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.operators.refresh import RefreshOperator
with DAG("told_to_statsd", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""
LINE = re.compile(r"airflow\.(?P<name>refresh\.\w+),(?P<tags>[^:]*):(?P<value>[^|]*)\|(?P<kind>\w+)")
ROW = re.compile(r"^\| `(?P<name>[\w.]+)` \| (?P<kind>\w+) \|", flags=re.MULTILINE)
KINDS = {"counter": "c", "gauge": "g", "timer": "ms"}
OVER = b"over"


@contextmanager
def _listening() -> Iterator[tuple[int, list[str]]]:
    """A port, and the lines sent to it; after the block all of them have been heard."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        heard: list[str] = []

        def listen() -> None:
            while (datagram := server.recv(65_536)) != OVER:
                heard.extend(datagram.decode().splitlines())

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], heard
        finally:
            server.sendto(OVER, server.getsockname())
            thread.join(timeout=10)


def _settings(port: int) -> dict[str, str]:
    """What makes Airflow send its metrics to a port of this machine, tags in the style of InfluxDB."""
    connection = {"conn_type": "airflow_refresh", "extra": {"control": "/memory"}}
    return {
        "AIRFLOW__METRICS__STATSD_ON": "True",
        "AIRFLOW__METRICS__STATSD_HOST": "127.0.0.1",
        "AIRFLOW__METRICS__STATSD_PORT": str(port),
        "AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED": "True",
        "AIRFLOW_CONN_REFRESH_DEFAULT": json.dumps(connection),
    }


def _tags(text: str) -> dict[str, str]:
    return dict(tag.split("=", 1) for tag in text.split(","))


@pytest.mark.usefixtures("_metadata")
def test_every_documented_metric_arrives_with_its_tags() -> None:
    file = DAGS / "told_to_statsd.py"
    file.write_text(SINGLE.format(definition=Shared().definition))
    with _listening() as (port, lines):
        ended = subprocess.run(
            [sys.executable, "-m", "tests.airflow.counting", str(file)],
            cwd=ROOT,
            env={**os.environ, **_settings(port)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    file.unlink()
    assert ended.returncode == 0, ended.stderr

    found = [match for line in lines if (match := LINE.fullmatch(line))]
    counted = [(m["name"], int(m["value"]), _tags(m["tags"])) for m in found if m["kind"] == "c"]
    merged = {"definition": NAME, "stage": "merge"}
    assert counted == [
        ("refresh.chunks", 1, merged),
        ("refresh.rows", 9, merged),
        ("refresh.ended", 1, {"definition": NAME, "state": "succeeded"}),
        ("refresh.chunks", 1, merged),
        ("refresh.rows", 1, merged),
        ("refresh.ended", 1, {"definition": NAME, "state": "succeeded"}),
        ("refresh.ended", 1, {"definition": NAME, "state": "nothing_to_do"}),
    ]
    gauges = [(m["name"], float(m["value"])) for m in found if m["kind"] == "g"]
    assert gauges == [("refresh.lag", 0), ("refresh.late", 0)] * 2
    timed = [(m["name"], float(m["value"]) >= 0, _tags(m["tags"])) for m in found if m["kind"] == "ms"]
    assert timed == [("refresh.seconds", True, {"definition": NAME})] * 3

    documented = {(m["name"], KINDS[m["kind"]]) for m in ROW.finditer(metrics.__doc__ or "")}
    assert {(m["name"], m["kind"]) for m in found} == documented
