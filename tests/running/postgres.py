"""A PostgreSQL of the tests' own, for Airflow's metadata: in a folder of its own, on loopback, ended with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.local_airflow import free_port

PROGRAMS = Path(__file__).parents[2] / "tools" / "postgres_bin.sh"
_LIMIT_SECONDS = 120
_IDLE_SECONDS = 20
"""How long a transaction may be idle: its client may be dead, and child processes hold its connection."""


@contextmanager
def database() -> Iterator[str]:
    """The address of an empty database, as SQLAlchemy takes it."""
    programs = Path(subprocess.run([PROGRAMS], check=True, capture_output=True, text=True).stdout.strip())
    # A socket's path may have a hundred characters, so the folder is not one of pytest's.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    port = free_port()
    data = folder / "data"
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off "
        f"-c idle_in_transaction_session_timeout={_IDLE_SECONDS}s"
    )
    try:
        _run(user, programs / "initdb", "-D", data, "-A", "trust", "-U", "airflow", "-E", "UTF8")
        _run(user, programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            _run(user, programs / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "airflow", "airflow")
            yield f"postgresql+psycopg2://airflow@127.0.0.1:{port}/airflow"
        finally:
            _run(user, programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    """Who runs it: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _run(user: str | None, *words: object) -> None:
    # Output goes nowhere: the server would keep a pipe open.
    subprocess.run(
        [str(word) for word in words],
        check=True,
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_LIMIT_SECONDS,
    )
