"""Endpoints: where a Spark Connect server is said to be, and whether one answers there."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_refresh_provider.errors import Retry

if TYPE_CHECKING:
    from pyspark.sql.connect.client import DefaultChannelBuilder

ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Endpoint:
    """A Spark Connect server: `sc://host:port`, with parameters such as `/;use_ssl=true;token=...` if it needs them."""

    url: str

    @property
    def shown(self) -> str:
        """The URL without its parameters, which may hold a secret."""
        return self.url.partition("/;")[0]


def channel_builder(endpoint: Endpoint) -> DefaultChannelBuilder:
    """pyspark's builder for channels to the endpoint."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    return DefaultChannelBuilder(endpoint.url)


def answers(endpoint: Endpoint, seconds: float = ANSWER_SECONDS) -> bool:
    """Whether a living gRPC server greets us there: a stopped process accepts connections, yet greets nobody."""
    import grpc

    settled = threading.Event()
    seen: list[grpc.ChannelConnectivity] = []

    def note(state: grpc.ChannelConnectivity) -> None:
        seen.append(state)
        if state in (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE):
            settled.set()

    channel = channel_builder(endpoint).toChannel()
    try:
        channel.subscribe(note, try_to_connect=True)
        settled.wait(seconds)
        return grpc.ChannelConnectivity.READY in seen
    finally:
        channel.unsubscribe(note)
        channel.close()


def must_answer(endpoint: Endpoint) -> None:
    """Raises Retry within seconds when no server answers."""
    if not answers(endpoint):
        raise unreachable(endpoint)


def unreachable(endpoint: Endpoint) -> Retry:
    """The one error for a server that does not answer."""
    return Retry(
        "spark_unreachable",
        f"no Spark Connect server answers at {endpoint.shown}",
        left="Nothing was changed.",
        next="Check the address and that the server runs, then run again.",
    )
