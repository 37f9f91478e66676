"""The stage of a scenario: a lake, a server, and clients as processes of their own.

A scenario is a list of directions; each is one act on the stage, done in order by the test's own process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_refresh_provider import compose
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.sessions import close, connect
from tests.crash import holds
from tests.crash.holds import Hold
from tests.crash.jvm import Server
from tests.crash.lake import NAME, Lake

ROOT = Path(__file__).parents[2]
LONGEST_SECONDS = 400.0


@dataclass(frozen=True)
class Ended:
    """What a client left behind."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> str | None:
        """The code of the error it reported, if any."""
        return self.result["error"]["code"] if self.out and "error" in self.result else None


class Client:
    """`airflow-refresh run` in a process of its own."""

    def __init__(self, folder: Path, command: list[str], variables: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True)
        self._out, self._err = folder / "out", folder / "err"
        environment = {**os.environ, **(variables or {}), "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder)}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.kill()
        self._process.wait(LONGEST_SECONDS)

    def ended(self) -> Ended:
        """Wait until it ends by itself."""
        code = self._process.wait(LONGEST_SECONDS)
        return Ended(code, self._out.read_text(), self._err.read_text())


@dataclass
class Stage:
    """One target, its lake and its control root.

    `last` is how the client ended who last brought a refresh to its end; `sound` says that all checks have passed
    since the last direction.
    """

    folder: Path
    lake: Lake
    server: Server
    holds: Path
    clients: dict[str, Client] = field(default_factory=dict)
    last: Ended | None = None
    started: int = 0
    sound: bool = False
    scene: str = ""

    @property
    def control(self) -> str:
        """The control root."""
        return str(self.folder / "control")

    def refreshes(self) -> Refreshes:
        """The real composition in this process."""
        return compose.refreshes(Places(self.control, self.server.endpoint().url, str(self.folder / "spark")))

    def start(self, name: str, gone: tuple[int, ...] = (), words: tuple[str, ...] = ()) -> None:
        """Start a client under a name."""
        self.started += 1
        pids = ",".join(map(str, gone)) or "-"
        command = [sys.executable, "-m", "tests.crash.program", str(self.holds), pids, "run", NAME, *words]
        places = ["--control", self.control, "--spark", self.server.endpoint().url, "--output", "json"]
        self.clients[name] = Client(self.folder / "clients" / f"{self.started}-{name}", [*command, *places])

    def hold(self, name: str) -> Hold:
        """A hold by its name; after holds were cleared the same name is another one."""
        return Hold(self.holds, f"{name}-{self.scene}")

    @contextmanager
    def spark(self) -> Iterator[SparkSession]:
        """A session of another writer."""
        session = connect(self.server.endpoint(), str(uuid.uuid4()))
        try:
            yield session
        finally:
            close(session)

    def sql(self, statement: str) -> list[Any]:
        """Run one statement of another writer."""
        with self.spark() as session:
            return session.sql(statement).collect()

    def clear_holds(self) -> None:
        """Let everybody go, and forget all holds."""
        holds.clear(self.holds)
        self.scene = uuid.uuid4().hex

    def clear(self) -> None:
        """Let everybody go and end every client: nothing of one scenario reaches into the next."""
        self.clear_holds()
        for client in self.clients.values():
            client.kill()
        self.clients.clear()


Direction = Callable[[Stage], None]


def play(stage: Stage, *directions: Direction) -> None:
    """Follow directions in their order."""
    stage.sound = False
    for direction in directions:
        direction(stage)
