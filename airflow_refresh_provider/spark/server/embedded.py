"""The embedded Spark server: one JVM for one folder, started when needed, found again by every later process.

The JVM inherits the descriptor of `writer.lock`, so the lock is held exactly as long as the JVM exists, even if the
process that started it has died. The record in `server.json` only helps to find it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_refresh_provider.errors import Failed, Refused, Retry
from airflow_refresh_provider.spark.connect.endpoint import ANSWER_SECONDS, Endpoint, answers
from airflow_refresh_provider.spark.server import process as processes
from airflow_refresh_provider.spark.server.ended import cause
from airflow_refresh_provider.spark.server.installation import Installation, find
from airflow_refresh_provider.spark.server.jars import delta_jars
from airflow_refresh_provider.spark.server.launch import Home, ServerOptions, command, write_log4j2
from airflow_refresh_provider.spark.server.process import ServerProcess, try_lock
from airflow_refresh_provider.spark.server.startup_log import PORT_TAKEN, failure

__all__ = ["EmbeddedServer", "ServerOptions", "ServerStatus"]

_START_SECONDS = 120.0
_SILENT_SECONDS = 8.0
"""How long a caller waits for a server that has answered before."""

_LOOK_EVERY = 0.1
_PORTS = 3
"""How many ports are tried: a port that is free when chosen may be taken seconds later."""


@dataclass(frozen=True)
class ServerStatus:
    """Whether the server's JVM exists, and its address."""

    running: bool
    url: str | None
    pid: int | None
    home: Path
    log: Path


class EmbeddedServer:
    """The server of one folder. Several processes may call anything at once."""

    def __init__(self, home: Path, options: ServerOptions | None = None) -> None:
        self._home = Home(home.absolute())
        self._options = options or ServerOptions()
        self._used: ServerProcess | None = None

    def ensure(self) -> Endpoint:
        """The running server, else a new one. Raises Refused when the lock is held and no server answers."""
        try:
            self._home.root.mkdir(parents=True, exist_ok=True)
            return self._found_or_started()
        except OSError as error:
            raise _home_unusable(self._home, error) from error

    def stop(self) -> bool:
        """End the server. Returns whether there was one. Raises Refused when it belongs to another user."""
        server = self._recorded()
        if server is None:
            return False
        try:
            server.end()
        except psutil.AccessDenied as error:
            raise _of_another_user(server) from error
        self._home.state.unlink(missing_ok=True)
        return True

    def status(self) -> ServerStatus:
        """The status without a call to the server."""
        server = self._recorded()
        return ServerStatus(
            running=server is not None,
            url=server.url if server else None,
            pid=server.pid if server else None,
            home=self._home.root,
            log=self._home.log,
        )

    def explained(self, error: Retry) -> Retry:
        """An error of a statement on the server that `ensure` has found: where that has ended, the error says why."""
        server = self._used
        if server is None or server.alive():
            return error
        follows = processes.load(self._home.state)
        replaced = follows is not None and follows.pid != server.pid
        return cause(server, self._home.last_log if replaced else self._home.log, error.left)

    def _recorded(self) -> ServerProcess | None:
        server = processes.load(self._home.state)
        if server and server.alive():
            return server
        return processes.search(self._home.log4j2.as_uri())

    def _found_or_started(self) -> Endpoint:
        started = time.monotonic()
        while True:
            lock = try_lock(self._home.lock)
            if lock is not None:
                try:
                    return self._start(lock)
                finally:
                    os.close(lock)
            server = self._recorded()
            if server and self._serves(server, seconds=_SILENT_SECONDS if server.ready else _LOOK_EVERY * 10):
                return self._made_ready(server)
            patience = _SILENT_SECONDS if server and server.ready else _START_SECONDS
            if time.monotonic() - started > patience:
                raise _locked(self._home, server)
            time.sleep(_LOOK_EVERY)

    def _start(self, lock: int) -> Endpoint:
        """Start the JVM, and again when another program has taken its port. The caller holds the lock."""
        installation = find(os.environ)
        jars = delta_jars(installation, os.environ)
        for _ in range(_PORTS - 1):
            try:
                return self._started(lock, installation, jars)
            except Retry as error:
                if error.code != PORT_TAKEN:
                    raise
        return self._started(lock, installation, jars)

    def _started(self, lock: int, installation: Installation, jars: list[Path]) -> Endpoint:
        self._prepare()
        port = free_port()
        with self._home.log.open("wb") as log:
            child = subprocess.Popen(
                command(installation.submit, self._home, port, jars, self._options),
                cwd=self._home.root,
                env=installation.environment(os.environ, self._home.conf),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,
            )
        threading.Thread(target=child.wait, name="server-reaper", daemon=True).start()
        try:
            server = ServerProcess.of(child.pid, port, self._options.memory)
        except psutil.NoSuchProcess:
            raise failure(self._home.log) from None
        processes.save(self._home.state, server)
        return self._await(server)

    def _prepare(self) -> None:
        """Empty the scratch folder of an earlier server and write its files."""
        shutil.rmtree(self._home.scratch, ignore_errors=True)
        self._home.scratch.mkdir()
        self._home.conf.mkdir(exist_ok=True)
        write_log4j2(self._home)
        if self._home.log.exists():
            self._home.log.replace(self._home.last_log)

    def _await(self, server: ServerProcess) -> Endpoint:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if not server.alive():
                raise failure(self._home.log)
            if self._serves(server):
                return self._made_ready(server)
            time.sleep(_LOOK_EVERY)
        server.end()
        raise Retry(
            "spark_start_slow",
            f"the embedded Spark server did not answer within {_START_SECONDS:.0f} seconds",
            left="It was ended; nothing was changed.",
            next=f"Run again when the machine is less busy. The server's log is {self._home.log}.",
        )

    def _serves(self, server: ServerProcess, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether it answers and its Spark is ready."""
        return self._home.serving.exists() and answers(Endpoint(server.url), seconds)

    def _made_ready(self, server: ServerProcess) -> Endpoint:
        """The first process that finds the server answering runs its first job, even if another has started it."""
        self._used, endpoint = server, Endpoint(server.url)
        if not server.ready:
            _warm(endpoint)
            processes.save(self._home.state, server.is_ready)
        return endpoint


def _warm(endpoint: Endpoint) -> None:
    """Run the first job while no other process can interrupt it.

    A Java class whose initialization is interrupted, such as a codec, stays unusable for the life of the JVM, and the
    session of a refresh can be released at any moment. The next statement is faster by as much as this one takes.
    """
    from airflow_refresh_provider.core.faults.fault import Doing
    from airflow_refresh_provider.spark.connect import sessions
    from airflow_refresh_provider.spark.connect.faults import translated

    session = sessions.connect(endpoint, str(uuid.uuid4()))
    try:
        with translated(Doing(left="The server runs; nothing was changed.")):
            session.range(1).collect()
    finally:
        sessions.close(session)


def free_port() -> int:
    """A port of the loopback address that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _locked(home: Home, server: ServerProcess | None) -> Refused:
    if server is None:
        return Refused(
            "spark_locked",
            f"the lock of {home.root} is held by a Spark application, or by an embedded server without a record",
            next=f"Wait for it or end it, then run again. Until then no other server may write. See {home.log}.",
        )
    return Refused(
        "spark_locked",
        f"the embedded Spark server of {home.root} exists (process {server.pid}) but does not answer",
        next="Resume that process (SIGCONT) or stop it (`airflow-refresh spark stop`), then run again. "
        f"While it exists no other server may write. Its log is {home.log}.",
    )


def _of_another_user(server: ServerProcess) -> Refused:
    return Refused(
        "spark_locked",
        f"the embedded Spark server (process {server.pid}) belongs to another user",
        left="It keeps running.",
        next="Stop it as that user.",
    )


def _home_unusable(home: Home, error: OSError) -> Failed:
    return Failed(
        "spark_home",
        f"the folder of the embedded Spark server {home.root} cannot be used: {error.strerror or error}",
        left="No server was started.",
        next="Make it writable and check its disk space, then run again.",
    )
