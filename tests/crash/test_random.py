"""Client and server of the program as it is, on its own embedded server, are killed at random moments, many times."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.places import EMBEDDED
from airflow_refresh_provider.spark.server.embedded import ServerOptions
from airflow_refresh_provider.spark.server.launch import MEMORY_VARIABLE
from tests.crash.checks import check_all
from tests.crash.directions import Victim, check_cut_off
from tests.crash.jvm import Server
from tests.crash.lake import NAME, PLAIN, VNODE, Kind, Lake
from tests.crash.stage import Client, Ended, Stage
from tests.frugal import FRUGAL

MEMORY = "1g"
SMALL_SERVER = {MEMORY_VARIABLE: MEMORY, "JDK_JAVA_OPTIONS": FRUGAL}
"""What clients start their server with."""
FIRST_GUESS = 15.0
FILES = 8


class Torment:
    """Starts clients and kills them, or their server, after a random part of the time that a refresh may take."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._random = random.Random(seed)
        self._seconds = FIRST_GUESS
        self._left = 0

    def go_on(self, kills: int) -> None:
        """Refresh after refresh until all kills are spent, then one in peace that has something to do."""
        self._left = kills
        while self._left:
            self.run_and_kill()
        while self.run() == Outcome.NOTHING_TO_DO:
            self._stage.lake.change(FILES)

    def run(self) -> str:
        """One refresh in peace; how it ended."""
        started = time.monotonic()
        last = self._stage.last = self._client().ended()
        assert last.code == 0, last
        self._seconds = time.monotonic() - started
        return str(last.result["outcome"])

    def run_and_kill(self) -> None:
        """One refresh that is cut, unless it ends before: then the input moves on."""
        client = self._client()
        end = time.monotonic() + self._random.uniform(0, self._seconds)
        while client.running and time.monotonic() < end:
            time.sleep(0.01)
        if client.running:
            self._kill(client)
        elif client.ended().code == 0:
            self._stage.lake.change(FILES)

    def _kill(self, client: Client) -> None:
        self._left -= 1
        victim = self._random.choice([Victim.CLIENT, Victim.CLIENT, Victim.SERVER, Victim.BOTH])
        if victim is not Victim.SERVER:
            client.kill()
        if victim is not Victim.CLIENT:
            self._stage.server.kill()
        if victim is Victim.SERVER:
            self._check(client.ended())

    def _check(self, ended: Ended) -> None:
        """The server may have died while it was still starting."""
        if ended.code:
            check_cut_off(ended, "spark_start")

    def _client(self) -> Client:
        self._stage.started += 1
        places = ["--control", self._stage.control, "--spark", EMBEDDED, "--output", "json"]
        command = [sys.executable, "-m", "airflow_refresh_provider.cli.main", "run", NAME, *places]
        client = Client(self._stage.folder / "clients" / str(self._stage.started), command, SMALL_SERVER)
        self._stage.clients["tormented"] = client
        return client


@pytest.fixture
def stage(tmp_path: Path, kind: Kind) -> Iterator[Stage]:
    """A stage on a server of its own, the one that clients start themselves."""
    server = Server(tmp_path / "control" / ".spark", ServerOptions(memory=MEMORY, java_options=FRUGAL))
    lake = Lake(tmp_path, kind)
    lake.change(FILES)
    stage = Stage(tmp_path, lake, server, tmp_path / "holds")
    stage.holds.mkdir()
    stage.refreshes().register(lake.definition())
    yield stage
    stage.clear()
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [(VNODE, 1)], ids=str)
def test_a_load_and_a_refresh_survive_a_few_kills(stage: Stage, seed: int) -> None:
    _torment(stage, seed, of_load=1, of_refresh=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "seed"), [(PLAIN, 2), (VNODE, 3)], ids=str)
def test_loads_and_refreshes_survive_many_kills(stage: Stage, seed: int) -> None:
    _torment(stage, seed, of_load=5, of_refresh=10)


def _torment(stage: Stage, seed: int, of_load: int, of_refresh: int) -> None:
    torment = Torment(stage, seed)
    torment.go_on(of_load)
    check_all(stage)
    stage.lake.change(FILES)
    torment.go_on(of_refresh)
    check_all(stage)
