"""The engine that starts no Spark before it is needed."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest

from airflow_refresh_provider.compose import LazyEngine, embedded_server
from airflow_refresh_provider.errors import UNREACHABLE, Retry
from airflow_refresh_provider.places import EMBEDDED, Places
from airflow_refresh_provider.ports.engine import Engine, EngineSession
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.views.lines import Lines


def test_releasing_a_session_starts_no_server(tmp_path: Path) -> None:
    places = Places(control=f"{tmp_path}/control", spark=EMBEDDED, spark_home=f"{tmp_path}/spark")
    LazyEngine(places).release("a-session-of-a-server-that-is-gone")
    assert not embedded_server(places).status().running
    assert not (tmp_path / "spark").exists()


class Gone:
    """An engine whose server answers no more."""

    def open(self, _session_id: str) -> EngineSession:
        """Raises Retry."""
        raise Retry(UNREACHABLE, "gone", left="", next="")

    def release(self, _session_id: str) -> None:
        """Nothing to do."""


def made_once_more(spark: str, folder: Path) -> tuple[int, bool]:
    """How many engines are made when the first is gone, and whether a session is opened in the end."""
    engines: list[Engine] = [MemoryEngine(MemoryLake()), Gone()]
    places = Places(control="/c", spark=spark, spark_home=f"{folder}/spark")
    engine = LazyEngine(places, None, lambda _places: engines.pop())
    try:
        engine.open("one")
    except Retry:
        return 2 - len(engines), False
    return 2 - len(engines), True


def test_a_session_is_opened_on_a_new_server_when_the_embedded_one_has_ended(tmp_path: Path) -> None:
    assert made_once_more(EMBEDDED, tmp_path) == (2, True)


def test_a_server_of_others_is_not_started_again(tmp_path: Path) -> None:
    assert made_once_more("sc://spark:15002", tmp_path) == (1, False)


@pytest.mark.parametrize(
    ("spark", "first"), [(EMBEDDED, "starting Spark, which takes"), ("sc://spark:15002/;token=t0k3n", "connecting to")]
)
def test_the_first_session_is_announced_and_timed(spark: str, first: str, tmp_path: Path) -> None:
    said: list[str] = []
    places = Places(control="/c", spark=spark, spark_home=f"{tmp_path}/spark")
    engine = LazyEngine(places, Lines(said.append), lambda _places: MemoryEngine(MemoryLake()))
    for session in ("one", "two"):
        engine.open(session)
    before, after = said
    assert before.startswith(first) and re.fullmatch(r"Spark answers after \d+\.\d s", after)
    assert "t0k3n" not in before


def test_sessions_that_are_opened_side_by_side_start_spark_once(tmp_path: Path) -> None:
    said: list[str] = []
    both = Barrier(2)
    places = Places(control="/c", spark=EMBEDDED, spark_home=f"{tmp_path}/spark")

    def make(_places: Places) -> Engine:
        sleep(0.2)  # the other one comes meanwhile
        return MemoryEngine(MemoryLake())

    engine = LazyEngine(places, Lines(said.append), make)

    def opened(session: str) -> None:
        both.wait()
        engine.open(session)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(opened, ("one", "two")))
    assert len(said) == 2
