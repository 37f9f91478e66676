"""Airflow on this machine with the example DAGs: SQLite, one process for each component, and the embedded Spark.

All of its files are below the folder of the example. No other Airflow of this machine is read or written.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from airflow_refresh_provider.compose import embedded_server
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import CONTROL_VARIABLE, SPARK_VARIABLE, Places, resolve
from airflow_refresh_provider.spark.server.launch import MEMORY_VARIABLE
from examples import parked, recorded
from examples.lake import Lake
from examples.processes import MARK, end, ignore_signals, working_for
from examples.recorded import UP, Recorded
from examples.rest import USER, Rest

CONNECTION = "refresh_default"
WITHOUT_TRIGGERER = ("api-server", "dag-processor", "scheduler")
ALL = (*WITHOUT_TRIGGERER, "triggerer")
_READY_SECONDS = 300
_STOP_SECONDS = 10
_RESTARTS = 3
"""A component that has ended is started again this often."""
_LOOK_EVERY = 0.5
# More tasks at once than this, and SQLite is locked for longer than Airflow waits.
_PARALLELISM = 4


@contextmanager
def running(
    lake: Lake, dags: Path, port: int, components: Iterable[str] = ALL, **settings: str
) -> Iterator[LocalAirflow]:
    """A migrated Airflow whose components are starting; all processes of the example have ended afterwards.

    `settings` are further variables of their environment.
    """
    # Spark, which this program or a task starts, reads these from its environment.
    os.environ[MARK] = str(lake.root)
    os.environ.setdefault(MEMORY_VARIABLE, "2g")
    airflow = LocalAirflow(lake, dags, port, settings)
    try:
        airflow.start(components)
        yield airflow
    except httpx.HTTPError as error:
        sys.exit(f"Airflow did not answer: {error!r}. Its logs are in {lake.airflow / 'logs'}.")
    finally:
        airflow.stop()


class LocalAirflow:
    """The processes, and where to find them."""

    def __init__(self, lake: Lake, dags: Path, port: int, settings: dict[str, str]) -> None:
        self._lake = lake
        self._dags = dags
        self._home = lake.airflow
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._restarts = dict.fromkeys(ALL, 0)
        self._port = port
        self.url = f"http://127.0.0.1:{port}"
        self.password = _kept_password(self.passwords) or secrets.token_urlsafe(9)
        self.rest = Rest(self.url, self.password)
        self._environment = self._base_environment() | settings

    @property
    def places(self) -> Places:
        """The control tables and the embedded Spark of the example."""
        return places_of(self._lake)

    @property
    def passwords(self) -> Path:
        """The file with the password, which every later Airflow of this folder has too."""
        return self._home / "passwords.json"

    def start(self, components: Iterable[str]) -> None:
        """Migrate the database, then start the components without waiting for them."""
        (self._home / "logs").mkdir(parents=True, exist_ok=True)
        self._write_password()
        limit = time.monotonic() + _READY_SECONDS
        migration = self._popen("migration", "db", "migrate")
        while migration.poll() is None:
            self._must_go_on(limit)
        if migration.returncode:
            sys.exit(self._last_words("migration"))
        for component in components:
            self.launch(component)

    def launch(self, component: str) -> None:
        """Start one component, again if it has ended."""
        self._started[component] = self._popen(component, component, *self._options(component))
        alive = {UP: os.getpid()} | {name: one.pid for name, one in self._started.items() if one.poll() is None}
        recorded.save(self._lake.root, [Recorded.of(name, pid) for name, pid in alive.items()])

    def kill(self, component: str) -> None:
        """End one component without giving it time for anything."""
        self._started[component].kill()
        self._started[component].wait()

    def look_after(self) -> None:
        """Start components that have ended again, and say so. Ends the program when one has ended too often."""
        for component, process in list(self._started.items()):
            if process.poll() is None:
                continue
            if self._restarts[component] == _RESTARTS:
                sys.exit(f"{self._last_words(component)}\nIt was started again {_RESTARTS} times before.")
            self._restarts[component] += 1
            print(
                f"{self._last_words(component, lines=1)} It is started again ({self._restarts[component]} of "
                f"{_RESTARTS} times).",
                flush=True,
            )
            self.launch(component)

    def await_ready(self, *dag_ids: str) -> list[str]:
        """Return when every component is healthy, the connection is there, and these DAGs, or else import errors."""
        limit = time.monotonic() + _READY_SECONDS
        while not self._healthy():
            self._must_go_on(limit)
        self._must_go_on(limit)
        self.rest.log_in()
        self.rest.set_connection(CONNECTION, "airflow_refresh", {"control": str(self._lake.control), "spark": "local"})
        while not set(dag_ids) <= self.rest.dag_ids() and not self.rest.import_errors():
            self._must_go_on(limit)
        return self.rest.import_errors()

    def spark_url(self) -> str:
        """The embedded Spark server, started if need be."""
        try:
            return embedded_server(self.places).ensure().url
        except RefreshError as error:
            sys.exit(f"{error.message}\n{error.left}\n{error.next}")

    def stop(self) -> None:
        """End the components, whatever tasks they have started, and Spark. Unfinished refreshes are released."""
        ignore_signals()
        print("Airflow and Spark end ...", flush=True)
        self._interrupt("scheduler")  # it would start DAG runs in place of those that are ended
        self._fail_dag_runs()
        self._interrupt(*self._started)
        limit = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < limit and any(process.poll() is None for process in self._started.values()):
            time.sleep(_LOOK_EVERY)
        spark = _spark_processes(self.places)
        end(process for process in working_for(self._lake.root) if process.pid not in spark)
        try:
            parked.release(self.places)
        finally:
            stop_spark(self._lake)
        end(working_for(self._lake.root))
        recorded.forget(self._lake.root)

    def _interrupt(self, *components: str) -> None:
        for component in components:
            if component in self._started:
                self._started[component].send_signal(signal.SIGINT)

    def _fail_dag_runs(self) -> None:
        """Mark the DAG runs in progress as failed: a later Airflow would wait for the heartbeats of their tasks."""
        self.rest.http.timeout = _STOP_SECONDS
        try:
            for dag_id, run_id in self.rest.running():
                self.rest.fail(dag_id, run_id, "This Airflow was stopped.")
        except httpx.HTTPError as error:
            print(f"DAG runs in progress were not marked as failed: {error!r}", flush=True)

    def _options(self, component: str) -> tuple[str, ...]:
        match component:
            case "api-server":
                return ("--host", "127.0.0.1", "--port", str(self._port), "--workers", "1")
            case "scheduler" | "triggerer":
                # Logs are read from the disk; a server for them would take a fixed port.
                return ("--skip-serve-logs",)
            case _:
                return ()

    def _healthy(self) -> bool:
        health = self.rest.health()
        found = [health.get(component.replace("-", "_")) for component in self._started if component != "api-server"]
        return set(found) == {"healthy"}

    def _must_go_on(self, limit: float) -> None:
        """Wait a little. Ends the program when a component ends again and again, or time is up."""
        self.look_after()
        if time.monotonic() > limit:
            sys.exit(f"Airflow was not ready within {_READY_SECONDS} s. Its logs are in {self._home / 'logs'}.")
        time.sleep(_LOOK_EVERY)

    def _popen(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with self._log(name).open("ab" if self._restarts.get(name) else "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "airflow", *words],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for this program, which stops them in order.
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self._home / "logs" / f"{name}.txt"

    def _last_words(self, name: str, lines: int = 20) -> str:
        tail = self._log(name).read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([*tail, f"Airflow's {name} has ended. Its log is {self._log(name)}."])

    def _write_password(self) -> None:
        self.passwords.touch(mode=0o600)
        self.passwords.write_text(json.dumps({USER: self.password}))

    def _base_environment(self) -> dict[str, str]:
        """The environment of every process: this shell's, without variables of another Airflow or lake."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW__", "AIRFLOW_CONN_"))}
        for variable in (CONTROL_VARIABLE, SPARK_VARIABLE):
            kept.pop(variable, None)
        return kept | {
            # Airflow renames its processes, which would overwrite the mark.
            "SPT_NOENV": "1",
            "NO_PROXY": ",".join(filter(None, (os.environ.get("NO_PROXY"), "127.0.0.1"))),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "AIRFLOW_HOME": str(self._home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self._dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "15",  # seconds until a new DAG file is seen
            "AIRFLOW__CORE__PARALLELISM": str(_PARALLELISM),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.passwords),
            "AIRFLOW__API__BASE_URL": self.url,
        }


def places_of(lake: Lake) -> Places:
    """The control tables and the embedded Spark of an example."""
    return resolve({CONTROL_VARIABLE: str(lake.control)}, lambda: str(lake.root), None, None)


def stop_spark(lake: Lake) -> None:
    """End the embedded Spark of an example, if it runs."""
    embedded_server(places_of(lake)).stop()


def _spark_processes(places: Places) -> set[int]:
    """The embedded Spark server, which the release of a refresh still needs, and what it has started."""
    pid = embedded_server(places).status().pid
    try:
        return set() if pid is None else {pid, *(one.pid for one in psutil.Process(pid).children(recursive=True))}
    except psutil.NoSuchProcess:
        return set()


def _kept_password(file: Path) -> str | None:
    """The password of an earlier Airflow of the same folder."""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))[USER])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def free_port(wanted: int = 0) -> int:
    """A free port: the wanted one, if it is free, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise AssertionError("the system has no free port")
