"""A server with the settings of the embedded one, for a contender that the embedded one would disturb."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.server.embedded import free_port
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
from airflow_refresh_provider.spark.server.launch import Home, ServerOptions, command, write_log4j2

_DRIVER = Path(__file__).parent / "plain_driver.py"
_START_SECONDS = 120.0
_END_SECONDS = 30.0
_LOOK_EVERY = 0.2


@contextmanager
def serving(root: Path) -> Iterator[Endpoint]:
    """A server in a new folder, which is ended at the end."""
    home = Home(root)
    for folder in (home.root, home.conf, home.scratch):
        folder.mkdir()
    write_log4j2(home)
    installation = find(os.environ)
    port = free_port()
    options = ServerOptions.of(os.environ)
    *given, _, _ = command(installation.submit, home, port, delta_jars(installation, os.environ), options)
    with home.log.open("wb") as log:
        server = subprocess.Popen(
            [*given, str(_DRIVER), str(home.serving)],
            cwd=root,
            env=installation.environment(os.environ, home.conf),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait(server, home)
        yield Endpoint(f"sc://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(_END_SECONDS)


def _wait(server: subprocess.Popen[bytes], home: Home) -> None:
    until = time.monotonic() + _START_SECONDS
    while not home.serving.exists():
        if server.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"the server did not start:\n{home.log.read_text(errors='replace')[-2000:]}")
        time.sleep(_LOOK_EVERY)
