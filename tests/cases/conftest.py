"""A session of plain Spark for each file of tests, and a folder for each case."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import close, connect
from tests.cases.case import Case


@pytest.fixture(scope="module")
def spark(spark_server: Endpoint) -> Iterator[SparkSession]:
    """The session in which inputs are made and queries are evaluated for comparison."""
    session = connect(spark_server, str(uuid.uuid4()))
    yield session
    close(session)


@pytest.fixture
def case(spark: SparkSession, spark_server: Endpoint, tmp_path: Path) -> Case:
    """An empty folder with a control root of its own."""
    return Case(spark, tmp_path, spark_server)
