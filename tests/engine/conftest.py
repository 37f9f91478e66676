"""Sessions on the server that the tests share; tests that harm a server start their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import close, connect
from tests.engine.acts import Lake, opened


@pytest.fixture(scope="module")
def lake(spark_server: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of its own for each module."""
    with opened(spark_server, tmp_path_factory.mktemp("lake")) as lake:
        yield lake


@pytest.fixture
def open_session(spark_server: Endpoint) -> Iterator[Callable[[], SparkSession]]:
    """Opens sessions that are closed after the test."""
    opened: list[SparkSession] = []

    def open_one() -> SparkSession:
        opened.append(connect(spark_server, str(uuid.uuid4())))
        return opened[-1]

    yield open_one
    for session in opened:
        close(session)
