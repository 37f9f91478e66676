"""The engine that starts no Spark before it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.compose import LazyEngine, embedded_server
from airflow_refresh_provider.places import EMBEDDED, Places
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.views.lines import Lines


def test_releasing_a_session_starts_no_server(tmp_path: Path) -> None:
    places = Places(control=f"{tmp_path}/control", spark=EMBEDDED, spark_home=f"{tmp_path}/spark")
    LazyEngine(places).release("a-session-of-a-server-that-is-gone")
    assert not embedded_server(places).status().running
    assert not (tmp_path / "spark").exists()


@pytest.mark.parametrize(("spark", "notes"), [(EMBEDDED, 1), ("sc://spark:15002", 0)])
def test_one_note_says_that_the_embedded_spark_is_being_started(spark: str, notes: int, tmp_path: Path) -> None:
    said: list[str] = []
    places = Places(control="/c", spark=spark, spark_home=f"{tmp_path}/spark")
    engine = LazyEngine(places, Lines(said.append), lambda _places: MemoryEngine(MemoryLake()))
    for session in ("one", "two"):
        engine.open(session)
    assert [line.startswith("starting Spark") for line in said] == [True] * notes
