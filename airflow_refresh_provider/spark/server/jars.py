"""The jars of Delta, fetched once by Spark's resolver into the user's cache.

A folder in the cache is complete or absent: it is filled under another name and renamed. Of several processes one
fetches, and the others wait for it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from airflow_refresh_provider.errors import Failed, Retry
from airflow_refresh_provider.spark.server.installation import Installation
from airflow_refresh_provider.spark.server.process import locked

DELTA = "4.4.0"
_SPARK_MINOR = "4.2"
PACKAGE = f"io.delta:delta-spark_{_SPARK_MINOR}_2.13:{DELTA}"
_UNITY = "0.6.0"
JARS = (
    f"io.delta_delta-spark_{_SPARK_MINOR}_2.13-{DELTA}.jar",
    f"io.delta_delta-storage-{DELTA}.jar",
    f"io.delta_delta-kernel-api-{DELTA}.jar",
    f"io.delta_delta-kernel-defaults-{DELTA}.jar",
    f"io.delta_delta-kernel-unitycatalog-{DELTA}.jar",
    f"io.unitycatalog_unitycatalog-client-{_UNITY}.jar",
    f"io.unitycatalog_unitycatalog-hadoop-{_UNITY}.jar",
)

# Delta's other dependencies are among Spark's jars, in newer versions; two versions of a class must not be loaded.
_EXCLUDED = ("com.fasterxml.*", "com.github.*", "com.google.*", "commons-*", "io.airlift", "javax.*", "org.*")
EXCLUDED = ",".join(f"{group}:*" for group in _EXCLUDED)

_FETCH_SECONDS = 300
_WAIT_SECONDS = _FETCH_SECONDS + 30


def delta_jars(installation: Installation, environment: Mapping[str, str], cache: Path | None = None) -> list[Path]:
    """The paths of all jars, fetched first if one is not in the cache. Raises Retry when they cannot be fetched."""
    root = cache or platformdirs.user_cache_path("airflow-refresh-provider")
    folder = root / f"delta-{DELTA}-spark-{_SPARK_MINOR}"
    if not _complete(folder):
        try:
            root.mkdir(parents=True, exist_ok=True)
            with locked(root / "jars.lock", _WAIT_SECONDS):
                if not _complete(folder):
                    _fetch(installation, environment, root, folder)
        except TimeoutError as error:
            raise _unfetched("another process has been fetching them for minutes", root) from error
        except OSError as error:
            raise _unwritable(root, error) from error
    return [folder / name for name in JARS]


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in JARS)


def _fetch(installation: Installation, environment: Mapping[str, str], root: Path, folder: Path) -> None:
    for unfinished in root.glob("fetching-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="fetching-", dir=root))
    try:
        _resolve(installation, environment, work, log=root / "jars.log")
        if not _complete(work / "jars"):
            raise _unfetched(_reason(root / "jars.log"), root)
        shutil.rmtree(folder, ignore_errors=True)
        (work / "jars").rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _resolve(installation: Installation, environment: Mapping[str, str], work: Path, log: Path) -> None:
    """Fetch the package with Spark's resolver; the class that it runs afterwards only prints Hadoop's version."""
    command = [
        installation.submit,
        "--packages",
        PACKAGE,
        "--exclude-packages",
        EXCLUDED,
        "--conf",
        f"spark.jars.ivy={work}",
        "--class",
        "org.apache.hadoop.util.VersionInfo",
        "spark-internal",
    ]
    with log.open("wb") as out:
        try:
            subprocess.run(
                command,
                env=installation.environment(environment, conf_dir=work),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=_FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            out.write(b"\ntimed out: the repository did not deliver in time\n")


def _reason(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    if "timed out: the repository" in text:
        return "the repository did not deliver in time"
    if "UNRESOLVED DEPENDENCIES" in text or "Server access error" in text:
        return "Maven Central could not be reached"
    return "the resolver did not deliver all of them"


def _unfetched(why: str, root: Path) -> Retry:
    return Retry(
        "jars_unavailable",
        f"the jars of Delta {DELTA} are not in the cache and could not be fetched: {why}",
        left="Nothing was started.",
        next=f"Check the network (behind a mirror, set DEFAULT_ARTIFACT_REPOSITORY) and run again. "
        f"The resolver's log is {root / 'jars.log'}.",
    )


def _unwritable(root: Path, error: OSError) -> Failed:
    return Failed(
        "cache_unwritable",
        f"the cache for jars {root} cannot be written: {error.strerror}",
        left="Nothing was started.",
        next="Make it writable, free disk space, or set XDG_CACHE_HOME to another folder.",
    )
