"""What all processes of a test session share: a folder in memory, one Spark server, a migrated metadata database."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from examples.processes import end, marked
from tests.frugal import FRUGAL, INTERPRETED

if TYPE_CHECKING:
    from airflow_refresh_provider.spark.connect.endpoint import Endpoint

_VARIABLE = "AIRFLOW_REFRESH_TEST_SESSION"
"""Set by the first process of a session; the workers of pytest-xdist inherit it."""

_MEMORY = Path("/dev/shm")
_LEAST_BYTES = 1 << 30
_CACHE = Path(__file__).parents[1] / ".cache" / "tests"
_YOUNG_GENERATION = "-Xmn1g"
"""The shared server works for several processes at once: larger than what `FRUGAL` sets, and it wins as the last."""


def in_memory() -> str | None:
    """A memory-backed folder with enough room, else None: the usual place for temporary files."""
    return str(_MEMORY) if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _LEAST_BYTES else None


def session_folder() -> Path:
    """The folder of this test session. The process that makes it ends the Spark server and removes the folder."""
    if _VARIABLE not in os.environ:
        folder = tempfile.mkdtemp(prefix="airflow-refresh-tests-", dir=in_memory())
        os.environ[_VARIABLE] = folder
        atexit.register(_end, Path(folder))
    return Path(os.environ[_VARIABLE])


def spark_endpoint() -> Endpoint:
    """The embedded server of the session. Of several processes one starts it."""
    from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

    options = ServerOptions(memory="3g", java_options=f"{FRUGAL} {_YOUNG_GENERATION}", extra_conf=INTERPRETED)
    return EmbeddedServer(session_folder() / "spark", options).ensure()


def copy_migrated(database: Path) -> None:
    """Put a migrated SQLite metadata database there. It is made once for each set of installed versions."""
    migrated = _CACHE / f"airflow-{_versions()}.db"
    if not migrated.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=in_memory()) as home:
            made = Path(home) / "airflow.db"
            migrate({"AIRFLOW_HOME": home, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{made}"})
            # Two workers may do so at once: each replaces the file by a whole one.
            unfinished = Path(tempfile.mkdtemp(dir=_CACHE)) / "airflow.db"
            shutil.copy(made, unfinished)
            unfinished.replace(migrated)
            unfinished.parent.rmdir()
    shutil.copy(migrated, database)


def migrate(variables: dict[str, str]) -> None:
    """Migrate the metadata database that these variables name."""
    words = [sys.executable, "-m", "airflow", "db", "migrate"]
    subprocess.run(words, check=True, capture_output=True, timeout=300, env=os.environ | variables)


def _versions() -> str:
    """Which Airflow and which providers are installed, as a short hash: they decide what a migration makes."""
    installed = {(d.metadata["Name"] or "").lower(): d.version for d in distributions()}
    of_airflow = sorted(item for item in installed.items() if "airflow" in item[0])
    return hashlib.sha256(repr(of_airflow).encode()).hexdigest()[:16]


def _end(folder: Path) -> None:
    """End every process of the session that is left, such as those of tests that were interrupted."""
    if (folder / "spark").exists():
        from airflow_refresh_provider.spark.server.embedded import EmbeddedServer

        EmbeddedServer(folder / "spark").stop()
    end(marked(_VARIABLE, str(folder)))
    shutil.rmtree(folder, ignore_errors=True)
