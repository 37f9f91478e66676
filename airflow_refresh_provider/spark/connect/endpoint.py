"""Endpoints: the address of a Spark Connect server, and whether one answers there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_refresh_provider.core.text.spark_url import shown
from airflow_refresh_provider.errors import UNREACHABLE, Retry

if TYPE_CHECKING:
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

ANSWER_SECONDS = 5.0
_UNTOUCHED = "No data was changed; a refresh in progress is as its last commit left it."
_UNKNOWN = "/spark.connect.SparkConnectService/Ping"


@dataclass(frozen=True)
class Endpoint:
    """A Spark Connect server: `sc://host:port`, with parameters such as `/;use_ssl=true;token=...` if it needs them."""

    url: str

    @property
    def shown(self) -> str:
        """The URL without secrets."""
        return shown(self.url)


def channel_builder(endpoint: Endpoint) -> DefaultChannelBuilder:
    """pyspark's builder for channels to the endpoint."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    return DefaultChannelBuilder(endpoint.url)


def answers(endpoint: Endpoint, seconds: float = ANSWER_SECONDS) -> bool:
    """Whether a gRPC server answers there: a stopped process accepts connections, but does not answer."""
    return _silence(endpoint, seconds) is None


def must_answer(endpoint: Endpoint) -> None:
    """Raises Retry within seconds when no server answers, Failed when one does not speak TLS as the address says."""
    error = _silence(endpoint, ANSWER_SECONDS)
    if error is None:
        return
    from airflow_refresh_provider.core.faults.fault import Doing
    from airflow_refresh_provider.spark.connect.faults import FaultKind, answer, fault_of, kind_of

    if kind_of(fault_of(error)) is FaultKind.TLS:
        raise answer(error, Doing(left=_UNTOUCHED)) from None
    raise unreachable(endpoint)


def _silence(endpoint: Endpoint, seconds: float) -> grpc.RpcError | None:
    """The error of a call when no server answers.

    The method that is called does not exist: an error from the server is an answer. Watching the state of the channel
    takes five times as long, because grpc polls it five times a second.
    """
    import grpc

    channel = channel_builder(endpoint).toChannel()
    try:
        channel.unary_unary(_UNKNOWN)(b"", timeout=seconds)
    except grpc.RpcError as error:
        silent = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        return error if silent else None
    finally:
        channel.close()
    return None


def unreachable(endpoint: Endpoint) -> Retry:
    """The error for a server that does not answer."""
    return Retry(
        UNREACHABLE,
        f"no Spark Connect server answers at {endpoint.shown}",
        left=_UNTOUCHED,
        next="Check the address and that the server runs, then run again.",
    )
