"""A standalone Spark cluster on loopback: a master and two workers, started from the installed pyspark.

Every process is started, and ended, by its own id. Workers have room for two applications at once: one that was stopped
keeps what it has.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_refresh_provider.spark.server.installation import Installation

LONGEST_SECONDS = 300.0
LOOK_EVERY = 0.1
_FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.master.rest.enabled=false"


@dataclass
class Daemon:
    """A master or a worker, and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, words: str) -> None:
        """Until the log has the words."""
        end = time.monotonic() + LONGEST_SECONDS
        while words not in (text := self.log.read_text(errors="replace")):
            assert self.process.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(LOOK_EVERY)

    def kill(self) -> None:
        """SIGKILL, and whatever it has started first, as if its machine had gone."""
        found = psutil.Process(self.process.pid)
        children = found.children(recursive=True)
        for one in (found, *children):
            one.kill()
        psutil.wait_procs(children, LONGEST_SECONDS)
        self.process.wait(LONGEST_SECONDS)


class Cluster:
    """The master is at `host` and `port`."""

    host = "spark://127.0.0.1"

    def __init__(self, folder: Path, installation: Installation) -> None:
        folder.mkdir()
        self._folder = folder
        self._installation = installation
        self._workers: list[Daemon] = []
        self._started = 0
        self.port = free_port()
        self._master = self._start("master.Master", "--port", str(self.port), "--webui-port", "0")
        self._master.wait_for("I have been elected leader")
        for _ in range(2):
            self._start_worker()

    def kill_a_worker(self) -> None:
        """One of the two is gone, and its executors with it."""
        self._workers.pop(0).kill()

    def make_whole(self) -> None:
        """Two workers again."""
        while len(self._workers) < 2:
            self._start_worker()

    def stop(self) -> None:
        """End all of it."""
        for daemon in (*self._workers, self._master):
            daemon.kill()

    def _start_worker(self) -> None:
        room = ("--cores", "2", "--memory", "2g", "--work-dir", str(self._folder / "work"), "--webui-port", "0")
        worker = self._start("worker.Worker", f"{self.host}:{self.port}", *room)
        self._workers.append(worker)
        worker.wait_for("Successfully registered with master")

    def _start(self, kind: str, *words: str) -> Daemon:
        self._started += 1
        log = self._folder / f"{self._started}-{kind}.log"
        home = self._installation.spark_home
        environment = self._installation.environment(os.environ, self._folder) | {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _FRUGAL,
        }
        with log.open("wb") as out:
            process = subprocess.Popen(
                [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *words],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        return Daemon(process, log)


def free_port() -> int:
    """A free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
