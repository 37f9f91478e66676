"""How an embedded server is started: its options, its confs and the folders it may write. Starts nothing itself."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow_refresh_provider.errors import Invalid

MEMORY_VARIABLE = "AIRFLOW_REFRESH_SPARK_MEMORY"
COLLECTOR = "-XX:+UseParallelGC -XX:NewRatio=1"
"""Throughput matters here, pauses do not: a fifth faster than the JVM's default. Two collectors are an error.

Shuffle and sort buffers live as long as their statement, so half of the heap is for the young generation.
"""
ROOM = ("-XX:MetaspaceSize=256m", "-XX:ReservedCodeCacheSize=512m")
"""Room for the classes of Spark and those it generates, and for what Java compiles of them.

Java starts with 21 MB for classes, and collects all garbage each time that it gives them more: five times, half a
second in all, before a server is warm. Ten refreshes of one query fill two thirds of the 117 MB that it has for code
with counters; when these are full, it drops code, and compiles it once more.
"""

DELTA_CONFS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.v2.enableMode": "NONE",
}
"""Confs for Delta that the engine needs, in a server and in an application."""

_SHARED_CODEGEN = {
    # Sessions with isolated class loaders cannot share generated code, and each refresh has a session.
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
    # A refresh needs some eighty generated classes; Spark's cache holds a hundred by default.
    "spark.sql.codegen.cache.maxEntries": "2000",
}

_PAGES = {
    # Each task that sorts or joins by hash takes a page, of 64 MB in a heap of 4 GB by default: small refreshes left
    # half a gigabyte of garbage each second.
    "spark.buffer.pageSize": "8m",
}

_RETAINED = {
    # Spark retains a thousand jobs, stages and statements, for a UI that is not served here.
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    # The plan of every statement is described for that UI; as formatted text this is a tenth of a small refresh.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "20",
    # Delta caches the log of each table for an hour, one or two megabytes; each run has its own staging table.
    "spark.databricks.delta.delta.log.cacheSize": "100",
}
"""A server runs for months; what it retains of finished refreshes is limited."""

DRIVER = Path(__file__).parents[1] / "driver" / "serve.py"
_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
_MEMORY = re.compile(r"[1-9][0-9]*[mg]", re.IGNORECASE)

_LOG4J2 = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n
# The client gets the error of a failed statement; here it would only be repeated with a stack trace.
logger.connect.name = org.apache.spark.sql.connect
logger.connect.level = error
"""


@dataclass(frozen=True)
class ServerOptions:
    """Heap and options of the JVM, extra confs, which have precedence, and extra jars, which come first."""

    memory: str = "4g"
    java_options: str = COLLECTOR
    extra_conf: Mapping[str, str] = field(default_factory=dict)
    extra_jars: tuple[Path, ...] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> ServerOptions:
        """The options from environment variables. Raises Invalid."""
        memory = environment.get(MEMORY_VARIABLE) or cls.memory
        if not _MEMORY.fullmatch(memory):
            raise Invalid(
                "spark_memory",
                f"{MEMORY_VARIABLE} is {memory!r}, which is not an amount of memory",
                next=f"Set {MEMORY_VARIABLE} to a number with m or g, such as 2g, or leave it out.",
            )
        of_user = " ".join(environment.get(variable, "") for variable in _JAVA_VARIABLES)
        collector = () if "GC" in of_user else (COLLECTOR,)
        room = (option for option in ROOM if option.partition("=")[0] not in of_user)
        # The whole heap from the start: each step of growing it costs a full collection.
        return cls(memory=memory, java_options=" ".join((*collector, f"-Xms{memory}", *room)))


@dataclass(frozen=True)
class Home:
    """The folder of one server. Only `scratch` is emptied at each start."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "writer.lock"

    @property
    def state(self) -> Path:
        return self.root / "server.json"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def last_log(self) -> Path:
        return self.root / "server.last.log"

    @property
    def log4j2(self) -> Path:
        return self.root / "log4j2.properties"

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def serving(self) -> Path:
        """The driver creates this file when Spark is ready; Connect answers a little earlier."""
        return self.scratch / "serving"


def write_log4j2(home: Home) -> None:
    """Write the server's logging rules: warnings and worse, to its log."""
    home.log4j2.write_text(_LOG4J2, encoding="utf-8")


def command(submit: str, home: Home, port: int, jars: list[Path], options: ServerOptions) -> list[str]:
    """The command line of a server that listens on `port` of the loopback address only."""
    confs = _confs(home, port, jars, options) | dict(options.extra_conf)
    return [
        submit,
        "--master",
        f"local[{os.cpu_count() or 1}]",
        "--driver-memory",
        options.memory,
        *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
        str(DRIVER),
        str(home.serving),
    ]


def _confs(home: Home, port: int, jars: list[Path], options: ServerOptions) -> dict[str, str]:
    return {
        "spark.app.name": "airflow-refresh",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.pyspark.driver.python": sys.executable,
        # On the class path of the JVM, not as --jars, which would be copied at each start.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in (*options.extra_jars, *jars)),
        "spark.driver.defaultJavaOptions": options.java_options,
        "spark.driver.extraJavaOptions": " ".join(_quoted(option) for option in _java_options(home)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(home.scratch),
        "spark.sql.warehouse.dir": str(home.root / "warehouse"),
        "spark.sql.shuffle.partitions": "8",
        **_SHARED_CODEGEN,
        **_PAGES,
        **_RETAINED,
        **DELTA_CONFS,
    }


def _java_options(home: Home) -> tuple[str, ...]:
    return (
        "-Duser.timezone=UTC",
        "-Dfile.encoding=UTF-8",
        f"-Dlog4j2.configurationFile={home.log4j2.as_uri()}",
        f"-Djava.io.tmpdir={home.scratch}",
        f"-Dderby.system.home={home.root / 'derby'}",
        # A server that has run out of memory ends, and is started again by the next caller.
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
    )


def _quoted(option: str) -> str:
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
