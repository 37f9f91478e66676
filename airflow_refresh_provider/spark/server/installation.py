"""Where Spark and Java are installed, and the environment in which they are started.

Variables for other installations of Spark (`SPARK_HOME`, `SPARK_CONF_DIR`, ...) are not passed to the processes started
here, so that an embedded server is the same everywhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from airflow_refresh_provider.errors import Failed

_VERSION = re.compile(r'version "(\d+)')
_SUPPORTED = frozenset({"17", "21"})
_USUAL_PLACES = Path("/usr/lib/jvm")


@dataclass(frozen=True)
class Installation:
    """A Spark and the Java for it."""

    spark_home: Path
    java_home: Path

    @property
    def submit(self) -> str:
        """The program spark-submit. It replaces itself with the JVM, so both have the same process id."""
        return str(self.spark_home / "bin" / "spark-submit")

    def environment(self, outer: Mapping[str, str], conf_dir: Path) -> dict[str, str]:
        """The environment for `submit`: the caller's, without variables for other installations of Spark."""
        kept = {name: value for name, value in outer.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        return kept | {
            "JAVA_HOME": str(self.java_home),
            "SPARK_HOME": str(self.spark_home),
            "SPARK_CONF_DIR": str(conf_dir),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }


def find(environment: Mapping[str, str], usual_places: Path = _USUAL_PLACES) -> Installation:
    """The installed Spark with the first supported Java: of JAVA_HOME, on the path, or in the usual folders.

    Raises Failed when either is missing.
    """
    return Installation(spark_home=_spark_home(), java_home=_java_home(environment, usual_places))


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    home = Path(spec.origin).parent if spec and spec.origin else None
    if home is None or not (home / "bin" / "spark-submit").exists():
        raise Failed(
            "no_spark",
            "the embedded Spark server needs the full pyspark package, and only its client is installed",
            left="Nothing was started.",
            next="pip install pyspark==4.2.0, or name a server with --spark sc://host:port.",
        )
    return home


def _java_home(environment: Mapping[str, str], usual_places: Path) -> Path:
    for home in _candidates(environment, usual_places):
        if _java_version(home / "bin" / "java") in _SUPPORTED:
            return home
    raise Failed(
        "no_java",
        f"Spark needs Java 17 or 21, and none was found in JAVA_HOME, on the path or in {usual_places}",
        left="Nothing was started.",
        next="Install Java 17 or 21 (Debian and Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME.",
    )


def _candidates(environment: Mapping[str, str], usual_places: Path) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path).resolve().parent.parent
    if usual_places.is_dir():
        yield from sorted(usual_places.iterdir())


def _java_version(java: Path) -> str | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr)
    return found.group(1) if found else None
