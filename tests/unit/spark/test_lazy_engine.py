"""The engine that starts no Spark before it is needed."""

from __future__ import annotations

from pathlib import Path

from airflow_refresh_provider.compose import LazyEngine, embedded_server
from airflow_refresh_provider.places import EMBEDDED, Places


def test_releasing_a_session_starts_no_server(tmp_path: Path) -> None:
    places = Places(control=f"{tmp_path}/control", spark=EMBEDDED, spark_home=f"{tmp_path}/spark")
    LazyEngine(places).release("a-session-of-a-server-that-is-gone")
    assert not embedded_server(places).status().running
    assert not (tmp_path / "spark").exists()
