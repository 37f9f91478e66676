"""Spark sessions under ids that the caller chooses. Any process can release them.

pyspark's own client retries a dead server for ten minutes and waits at exit for one that hangs. Sessions from here
retry for seconds, and all calls but statements have deadlines.
"""

from __future__ import annotations

import atexit
import logging
import os
import warnings
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from threading import Thread
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet

import grpc
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto import ConfigRequest
from pyspark.sql.connect.proto import KeyValue as ConfigPair
from pyspark.sql.connect.session import SparkSession as ConnectSession

from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.spark.connect.endpoint import Endpoint, answers, channel_builder, must_answer
from airflow_refresh_provider.spark.connect.faults import (
    SPARK_ERRORS,
    FaultKind,
    answer,
    fault_of,
    kind_of,
    translated,
)

__all__ = [
    "USER",
    "Endpoint",
    "close",
    "configure",
    "connect",
    "interrupt_classic",
    "open_classic",
    "release",
    "restore",
    "values_of",
]

USER = "airflow-refresh"
"""Sessions are named by user and id; one user for all, so that any process can release another's session."""

SESSION_CONFS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # Pages of Parquet are passed over by each of so many values of a list; by default, of more than ten, by its ends.
    "spark.sql.parquet.pushdown.inFilterThreshold": "32",
    # By default each of more than 32 listed files is looked up by a task of its own, which costs ten times as much.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    # A pinned version is read as long as its files are there, however long ago it was written.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.databricks.delta.v2.enableMode": "NONE",
    "spark.databricks.delta.write.txnVersion.autoReset.enabled": "false",
    # No reader of staged rows looks for the file _SUCCESS.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Confs that the engine needs on any server."""

_CLASSIC_ONLY_CONFS = {"spark.sql.pyspark.jvmStacktrace.enabled": "false"}
_CONNECT_ONLY_CONFS = {"spark.sql.connect.serverStacktrace.enabled": "false"}

_NOTHING_CHANGED = Doing(left="Nothing was changed.")

_log = logging.getLogger(__name__)
_open: WeakSet[SparkSession] = WeakSet()
_beside: WeakKeyDictionary[SparkSession, Thread] = WeakKeyDictionary()
_BESIDE_SECONDS = 10.0
"""How long a session waits for the thread beside it. A table of any usual size needs less, and it is interrupted."""


def connect(endpoint: Endpoint, session_id: str) -> SparkSession:
    """A session with this id on the server. Raises Retry within seconds when there is none."""
    must_answer(endpoint)
    _silence_pyspark()
    # Functions such as `pyspark.sql.functions.col` read the kind of session from here.
    os.environ.setdefault("SPARK_CONNECT_MODE_ENABLED", "1")
    session = _session(endpoint, session_id)
    _close_at_exit(session)
    with ExitStack() as on_failure, translated(_NOTHING_CHANGED):
        on_failure.callback(close, session)
        configure(session, SESSION_CONFS | _CONNECT_ONLY_CONFS)
        on_failure.pop_all()
    return session


def open_classic(spark: SparkSession) -> SparkSession:
    """A new session of a running Spark application, with the same confs as from `connect`."""
    _silence_pyspark()
    session = spark.newSession()
    configure(session, SESSION_CONFS | _CLASSIC_ONLY_CONFS)
    return session


def configure(session: SparkSession, confs: Mapping[str, str]) -> None:
    """Set confs of a session, in one call to the server where there is one."""
    if not confs:
        return
    if not _is_connect(session):
        for name, value in confs.items():
            session.conf.set(name, value)
        return
    pairs = [ConfigPair(key=name, value=value) for name, value in confs.items()]
    session.client.config(ConfigRequest.Operation(set=ConfigRequest.Set(pairs=pairs)))


def values_of(session: SparkSession, names: Collection[str]) -> dict[str, str | None]:
    """The values of confs that are set, None for the others, in one call to the server where there is one."""
    if not _is_connect(session):
        return {name: session.conf.get(name, None) for name in names}
    pairs = [(name, None) for name in names]
    return dict(zip(names, session.client.get_config_with_defaults(*pairs), strict=True))


def restore(session: SparkSession, values: Mapping[str, str | None]) -> None:
    """Set confs to what `values_of` has returned; None unsets one."""
    configure(session, {name: value for name, value in values.items() if value is not None})
    unset = [name for name, value in values.items() if value is None]
    if unset and _is_connect(session):
        session.client.config(ConfigRequest.Operation(unset=ConfigRequest.Unset(keys=unset)))
        return
    for name in unset:
        session.conf.unset(name)


def beside(session: SparkSession, thread: Thread) -> None:
    """Start a thread that uses the session too; the session is not closed under it.

    A call that begins while its channel is closed ends the process: gRPC reads memory that it has freed.
    """
    _beside[session] = thread
    thread.start()


def close(session: SparkSession) -> None:
    """End a session of this process. Never raises, never hangs; a classic session ends with its application."""
    if not _is_connect(session):
        return
    _open.discard(session)
    # A server that is gone has no session to release: no retries.
    session.client.set_retry_policies([])
    thread = _beside.pop(session, None)
    if thread is not None and thread.is_alive():
        with suppress(*SPARK_ERRORS):
            session.interruptAll()
        thread.join(_BESIDE_SECONDS)
    session.stop()


def interrupt_classic(session: SparkSession) -> None:
    """Interrupt the statements of a session of this application, if its JVM still exists."""
    with suppress(*SPARK_ERRORS):
        session.interruptAll()


def release(endpoint: Endpoint, session_id: str) -> None:
    """End the session of any process and its statements; its id can never be opened again on that server.

    Interrupting statements is not enough: Spark does so once, and a statement that misses it continues. The server ends
    statements whose session was released (ADR 23). A session that has ended, or whose server is gone, needs nothing.
    """
    if not answers(endpoint):
        _log.info("session %s: no server at %s", session_id, endpoint.shown)
        return
    _silence_pyspark()
    session = _session(endpoint, session_id)
    try:
        # The server only remembers a released session that it knew, so a call comes first.
        session.conf.get("spark.sql.session.timeZone")
        session.interruptAll()
        session.client.release_session()
    except SPARK_ERRORS as error:
        if kind_of(fault_of(error)) not in (FaultKind.SESSION_GONE, FaultKind.UNREACHABLE):
            raise answer(error, _NOTHING_CHANGED) from None
    finally:
        session.client.close()


def _is_connect(session: object) -> bool:
    """Whether it is a Connect session, whose type is unrelated to the one that pyspark declares for both."""
    return isinstance(session, ConnectSession)


def _session(endpoint: Endpoint, session_id: str) -> SparkSession:
    builder = channel_builder(endpoint)
    builder.set(builder.PARAM_USER_ID, USER)
    builder.set(builder.PARAM_SESSION_ID, session_id)
    for name, value in _CHANNEL_OPTIONS.items():
        builder.setChannelOption(name, value)
    builder.add_interceptor(_Deadlines())
    session = cast(SparkSession, ConnectSession(connection=builder))
    session.client.set_retry_policies([_retries()])
    return session


# The stream of a running statement is silent, so a dead network is found by keepalive pings only. By default, servers
# allow one in five minutes and close connections with more.
_CHANNEL_OPTIONS = {"grpc.keepalive_time_ms": 330_000, "grpc.keepalive_timeout_ms": 20_000}


def _retries() -> DefaultPolicy:
    """About five seconds in all: enough for a short network failure, not for a restart of the server."""
    return DefaultPolicy(
        max_retries=6, initial_backoff=50, backoff_multiplier=3.0, max_backoff=2_000, max_server_retry_delay=2_000
    )


_DEADLINES = {
    "Config": 30.0,
    "Interrupt": 10.0,
    "ReleaseSession": 10.0,
    "ReleaseExecute": 10.0,
    "FetchErrorDetails": 10.0,
}


class _Deadlines(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]  # grpc is published without types
    """Deadlines for calls that a server answers at once; pyspark sets none."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        method = client_call_details.method
        name = (method.decode() if isinstance(method, bytes) else method).rpartition("/")[2]
        if name in _DEADLINES:
            client_call_details = client_call_details._replace(timeout=_DEADLINES[name])
        return continuation(client_call_details, request)


def _silence_pyspark() -> None:
    """Keep pyspark from logging errors with their stack traces; `faults` writes them to the debug log."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")


def _close_at_exit(session: SparkSession) -> None:
    """Close the session at exit if it is still open, before pyspark's own exit hook calls a server that may hang."""
    _open.add(session)
    atexit.unregister(_close_all)
    atexit.register(_close_all)


def _close_all() -> None:
    for session in list(_open):
        close(session)
