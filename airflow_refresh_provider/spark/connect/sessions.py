"""Spark sessions under ids that the caller chose: opened, released by any process, and closed within bounds.

pyspark's own client retries a dead server for ten minutes and waits at exit for one that hangs. Sessions from here
time out after seconds, and their small calls have deadlines; statements may take as long as they like.
"""

from __future__ import annotations

import atexit
import logging
import os
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, cast
from weakref import WeakSet

import grpc
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto import ConfigRequest
from pyspark.sql.connect.proto import KeyValue as ConfigPair
from pyspark.sql.connect.session import SparkSession as ConnectSession

from airflow_refresh_provider.spark.connect.endpoint import Endpoint, answers, channel_builder, must_answer
from airflow_refresh_provider.spark.connect.faults import (
    SPARK_ERRORS,
    FaultKind,
    as_refresh_error,
    fault_of,
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
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    # A pinned version is read as long as its files are there, however long ago it was written.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.databricks.delta.v2.enableMode": "NONE",
    "spark.databricks.delta.write.txnVersion.autoReset.enabled": "false",
}
"""What the engine relies on, on any server."""

_CLASSIC_ONLY_CONFS = {"spark.sql.pyspark.jvmStacktrace.enabled": "false"}
_CONNECT_ONLY_CONFS = {"spark.sql.connect.serverStacktrace.enabled": "false"}

_log = logging.getLogger(__name__)
_open: WeakSet[SparkSession] = WeakSet()


def connect(endpoint: Endpoint, session_id: str) -> SparkSession:
    """A session with this id on the server. Raises Retry within seconds when there is none."""
    must_answer(endpoint)
    _quieten()
    # Functions such as `pyspark.sql.functions.col` look here for the kind of session that they work for.
    os.environ.setdefault("SPARK_CONNECT_MODE_ENABLED", "1")
    session = _session(endpoint, session_id)
    _close_at_exit(session)
    with ExitStack() as on_failure, translated(left="Nothing was changed."):
        on_failure.callback(close, session)
        configure(session, SESSION_CONFS | _CONNECT_ONLY_CONFS)
        on_failure.pop_all()
    return session


def open_classic(spark: SparkSession) -> SparkSession:
    """A session of its own within a running Spark application, with the same confs as `connect` gives."""
    _quieten()
    session = spark.newSession()
    configure(session, SESSION_CONFS | _CLASSIC_ONLY_CONFS)
    return session


def configure(session: SparkSession, confs: Mapping[str, str]) -> None:
    """Set confs of a session, in one call to the server where there is one."""
    if not _is_connect(session):
        for name, value in confs.items():
            session.conf.set(name, value)
        return
    pairs = [ConfigPair(key=name, value=value) for name, value in confs.items()]
    session.client.config(ConfigRequest.Operation(set=ConfigRequest.Set(pairs=pairs)))


def close(session: SparkSession) -> None:
    """End a session of ours. Never raises, never hangs; a classic session ends with its application."""
    if not _is_connect(session):
        return
    _open.discard(session)
    # A server that is gone has no session to release: one try is enough.
    session.client.set_retry_policies([])
    session.stop()


def interrupt_classic(session: SparkSession) -> None:
    """Stop the statements of a session within this application, whose Java may be gone and they with it."""
    with suppress(*SPARK_ERRORS):
        session.interruptAll()


def release(endpoint: Endpoint, session_id: str) -> None:
    """Release a session and its statements, so that its id can never be opened again on that server.

    To interrupt statements alone is not enough: Spark does so once, and a statement that misses it goes on. One whose
    session has ended is ended by the server (ADR 23). A server that is gone has no session, one that ended stays ended.
    """
    if not answers(endpoint):
        _log.info("session %s: no server at %s", session_id, endpoint.shown)
        return
    _quieten()
    session = _session(endpoint, session_id)
    try:
        # Only a session that the server has seen is remembered as ended, so it is called first.
        session.conf.get("spark.sql.session.timeZone")
        session.interruptAll()
        session.client.release_session()
    except SPARK_ERRORS as error:
        fault = fault_of(error)
        if fault.kind not in (FaultKind.SESSION_GONE, FaultKind.UNREACHABLE):
            raise as_refresh_error(fault, left="Nothing was changed.") from None
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


# A statement's stream is silent while Spark works, so a dead network is found by pings only. Servers
# allow one in five minutes unless configured otherwise, and disconnect on clients that ask more often.
_CHANNEL_OPTIONS = {"grpc.keepalive_time_ms": 330_000, "grpc.keepalive_timeout_ms": 20_000}


def _retries() -> DefaultPolicy:
    """Some five seconds in all: enough for a hiccup of the network, not for a restart of a server."""
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
    """Gives the calls that a living server answers at once a time limit; pyspark sets none."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        method = client_call_details.method
        name = (method.decode() if isinstance(method, bytes) else method).rpartition("/")[2]
        if name in _DEADLINES:
            client_call_details = client_call_details._replace(timeout=_DEADLINES[name])
        return continuation(client_call_details, request)


def _quieten() -> None:
    """Keep pyspark from printing errors with their stack traces; the debug log has them from `faults`."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")


def _close_at_exit(session: SparkSession) -> None:
    """Close it at exit, if that was not done, before pyspark's own hook for it asks a server that may hang."""
    _open.add(session)
    atexit.unregister(_close_all)
    atexit.register(_close_all)


def _close_all() -> None:
    for session in list(_open):
        close(session)
