"""A session of this application that another thread has released: no statement of it starts any more."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.spark.engine import ClassicEngine, SparkEngineSession


class Noted:
    """A Spark that notes what is asked of it."""

    version = "4"

    def __init__(self) -> None:
        self.interrupted = 0
        self.conf = self

    def newSession(self) -> Noted:  # noqa: N802 - the name is Spark's
        return self

    def set(self, *_conf: Any) -> None:
        """Ignored."""

    def interruptAll(self) -> None:  # noqa: N802 - the name is Spark's
        self.interrupted += 1


def test_a_released_session_of_this_application_does_nothing_more() -> None:
    spark = Noted()
    engine = ClassicEngine(cast(SparkSession, spark), StagingFolders())
    session = engine.open("mine")
    assert session.engine() == "Spark 4"
    for times in (1, 2):  # a statement may have been sent between two looks
        engine.release("mine")
        assert spark.interrupted == times
    with pytest.raises(Retry) as lost:
        session.engine()
    assert lost.value.code == "session_lost"
    engine.release("of another application")
    assert spark.interrupted == 2


def test_a_statement_that_ends_well_after_the_interruption_does_not_revive_its_session() -> None:
    session = SparkEngineSession(cast(SparkSession, Noted()), StagingFolders())
    with session._act(cast(Any, None)):
        session.interrupt()
    with pytest.raises(Retry):
        session.engine()
