"""The Spark server of these tests: an embedded one whose statements can be held, killed and started again.

What holds them is a little Java, compiled by the compiler that Spark ships for its own generated code, so that no JDK
is needed.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
from tests.frugal import FRUGAL, INTERPRETED

SOURCES = Path(__file__).parent / "java"


def compile_java(classes: Path) -> Path:
    """Compile the sources into a folder of classes."""
    installation = find(os.environ)
    jars = [*(installation.spark_home / "jars").glob("*.jar"), *delta_jars(installation, os.environ)]
    classpath = os.pathsep.join(map(str, jars))
    java = installation.java_home / "bin" / "java"
    compiler = "org.codehaus.commons.compiler.samples.CompilerDemo"
    classes.mkdir()
    subprocess.run(
        [java, "-cp", classpath, compiler, "-d", classes, "-classpath", classpath, *sorted(SOURCES.glob("*.java"))],
        check=True,
        timeout=120,
    )
    return classes


def holdable(holds: Path) -> dict[str, str]:
    """Settings with which commits can be held. Delta does not lock the table meanwhile: others go on beside them."""
    return {
        "spark.delta.logStore.file.impl": "HoldingLogStore",
        "spark.hadoop.crash.holds": str(holds),
        "spark.databricks.delta.commitLock.enabled": "false",
    }


def holding(classes: Path, holds: Path) -> ServerOptions:
    """Options of a server whose statements find in `holds` what stops them."""
    return ServerOptions(
        memory="1g",
        java_options=FRUGAL,
        extra_jars=(classes,),
        extra_conf={
            **holdable(holds),
            "spark.hadoop.fs.file.impl": "FillingFileSystem",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,HoldingExtension",
            "spark.sql.adaptive.enabled": "false",
            **INTERPRETED,
        },
    )


class Server:
    """One server at a time, on the same folder throughout."""

    def __init__(self, home: Path, options: ServerOptions) -> None:
        self._embedded = EmbeddedServer(home, options)
        self._endpoint: Endpoint | None = None

    def endpoint(self) -> Endpoint:
        """Where it answers; it is started if there is none."""
        self._endpoint = self._endpoint or self._embedded.ensure()
        return self._endpoint

    def kill(self) -> None:
        """SIGKILL, and wait until nothing is left of it; nothing happens when there is none."""
        self._endpoint = None
        pid = self._embedded.status().pid
        with suppress(psutil.NoSuchProcess):
            if pid is not None:
                process = psutil.Process(pid)
                process.kill()
                process.wait(30)

    def stop(self) -> None:
        """End it in good order."""
        self._embedded.stop()
