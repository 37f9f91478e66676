"""A lake whose refreshes are submitted to a standalone cluster, by a DAG or by hand, and held or killed there."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from airflow_refresh_provider import compose
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
from tests.airflow.cluster import Cluster
from tests.airflow.conftest import DagRunSeen
from tests.crash import holds
from tests.crash.checks import check_what_is_stored
from tests.crash.holds import Hold, Point
from tests.crash.jvm import holdable
from tests.crash.lake import NAME, Lake
from tests.crash.stage import Client, Ended
from tests.frugal import FRUGAL, INTERPRETED
from tests.reading import read

ROOT = Path(__file__).parents[2]
_QUERY = "SELECT id, grp, name, amount FROM found WHERE grp <> 3"
"""What the definition asks of its input; the target has it already."""


def jar_of(classes: Path, jar: Path) -> Path:
    """Classes as a jar, which Spark loads beside Delta's own."""
    with zipfile.ZipFile(jar, "w") as packed:
        for file in classes.glob("*.class"):
            packed.write(file, file.name)
    return jar


@dataclass
class Site:
    """One target whose refreshes are applications. `last` is how the last one ended that came to its end."""

    folder: Path
    lake: Lake
    cluster: Cluster
    jar: Path
    last: Ended | None = None
    _clients: list[Client] = field(default_factory=list)

    @property
    def control(self) -> str:
        """The control root."""
        return str(self.folder / "control")

    @property
    def holds(self) -> Path:
        """Where drivers look for what stops them."""
        return self.folder / "holds"

    def refreshes(self) -> Refreshes:
        """The control tables; no Spark is started for them."""
        return compose.refreshes(Places(self.control, "sc://nowhere", self.folder.name))

    @property
    def options(self) -> dict[str, Any]:
        """How applications are submitted: little ones, whose commits can be held."""
        confs = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": FRUGAL,
            "spark.ui.enabled": "false",
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.local.dir": str(self.folder / "scratch"),
            **holdable(self.holds),
            **INTERPRETED,
        }
        return {"conf": confs, "driver_memory": "1g", "jars": str(self.jar)}

    def by_hand(self, *words: str) -> Client:
        """A driver of its own, submitted as a person does, through the program in the checkout."""
        installation = find(os.environ)
        jars = (self.jar, *delta_jars(installation, os.environ))
        confs = {**self.options["conf"], "spark.pyspark.driver.python": sys.executable}
        client = Client(
            self.folder / "clients" / str(len(self._clients)),
            [
                *(installation.submit, "--master", f"{self.cluster.host}:{self.cluster.port}"),
                *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
                *("--driver-memory", "1g", "--jars", ",".join(map(str, jars))),
                *(str(ROOT / "spark_apps" / "refresh.py"), NAME, "--control", self.control, *words),
            ],
        )
        self._clients.append(client)
        return client

    def clear(self) -> None:
        """Let everybody go, and end every driver."""
        holds.clear(self.holds)
        for client in (client for client in self._clients if client.running):
            for process in driver_of(client.pid):
                process.send_signal(signal.SIGKILL)
            client.kill()

    @contextmanager
    def struck(self, at: Point, blow: Callable[[], object]) -> Iterator[None]:
        """During the block, what reaches the point is stopped there until the kill."""
        holds.clear(self.holds)
        hold = Hold(self.holds, "blow")
        hold.arm(at)

        def strike() -> None:
            hold.wait_until_held()
            blow()
            hold.release()

        thread = threading.Thread(target=strike, daemon=True)
        thread.start()
        yield
        thread.join(holds.LONGEST_SECONDS)
        assert not thread.is_alive()

    def ended(self, seen: DagRunSeen | Ended) -> None:
        """Remember the end of a refresh, and check everything."""
        reported = json.dumps(seen.returned["refresh"]) if isinstance(seen, DagRunSeen) else seen.out.splitlines()[-1]
        self.last = Ended(0, reported, "")
        wanted = read(self.lake.input, _QUERY, self.lake.version())
        published = self.refreshes().show(NAME).published_version
        assert [read(self.lake.target, _QUERY, version) == wanted for version in (published, None)] == [True, True]
        check_what_is_stored(self)


def driver_of(pid: int) -> list[psutil.Process]:
    """A driver's two processes, of Java and of Python, below one that started it; that one itself, if it is it."""
    found = psutil.Process(pid)
    java = next((p for p in (found, *_alive_below(found)) if _drives(" ".join(p.cmdline()))), None)
    return [java, *_alive_below(java)] if java else []


def _drives(command: str) -> bool:
    """Whether it is that of a driver's Java; an embedded server, which is below a test, too, has another program."""
    return "SparkSubmit" in command and "refresh.py" in command


def _alive_below(process: psutil.Process) -> list[psutil.Process]:
    """Its descendants, but for those that have ended and were not asked for yet."""
    return [p for p in process.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]


def kill_the_driver() -> None:
    """SIGKILL for both processes of the driver below this one, at once."""
    for process in driver_of(os.getpid()):
        process.kill()
