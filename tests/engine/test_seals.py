"""Seals that delta-rs has committed: Spark knows their markers, reads and writes on, whatever features a table has."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.tables.seals import DeltaSeals
from airflow_refresh_provider.ports.seals import Unsealed
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import Lake


@dataclass(frozen=True)
class Made:
    """How a table is made: its columns, what follows them, its properties, and what is done to it then."""

    columns: str = "k BIGINT, v STRING"
    clause: str = ""
    properties: str = ""
    then: str = ""


SEALED = {
    "plain": Made(),
    "deletion vectors": Made(properties="'delta.enableDeletionVectors' = 'true'"),
    "change data feed": Made(properties="'delta.enableChangeDataFeed' = 'true'"),
    "column mapping": Made(properties="'delta.columnMapping.mode' = 'name'"),
    "partitions": Made(clause="PARTITIONED BY (v)"),
    "v2 checkpoints": Made(properties="'delta.checkpointPolicy' = 'v2'"),
    "generated column": Made(columns="k BIGINT, v STRING, g BIGINT GENERATED ALWAYS AS (k + 1)"),
    "timestamps without time zone": Made(columns="k BIGINT, v STRING, n TIMESTAMP_NTZ"),
    "variants": Made(columns="k BIGINT, v STRING, x VARIANT"),
    "append only": Made(properties="'delta.appendOnly' = 'true'"),
    "not null": Made(columns="k BIGINT NOT NULL, v STRING"),
    "constraint": Made(then="ADD CONSTRAINT positive CHECK (k > 0)"),
    "varchar": Made(columns="k BIGINT, v VARCHAR(5)"),
}
LEFT_TO_SPARK = {
    "clustering": Made(clause="CLUSTER BY (k)"),
    "row tracking": Made(properties="'delta.enableRowTracking' = 'true'"),
    "timestamps in commits": Made(properties="'delta.enableInCommitTimestamps' = 'true'"),
    "identity column": Made(columns="k BIGINT, v STRING, g BIGINT GENERATED ALWAYS AS IDENTITY"),
    "default": Made(
        columns="k BIGINT, v STRING DEFAULT 'a'", properties="'delta.feature.allowColumnDefaults' = 'supported'"
    ),
    "type widening": Made(properties="'delta.enableTypeWidening' = 'true'"),
}


def made(lake: Lake, how: Made) -> Target:
    """A table of one row."""
    location = lake.place("target")
    properties = f"TBLPROPERTIES ({how.properties})" if how.properties else ""
    lake.spark.sql(f"CREATE TABLE {sql.table(location)} ({how.columns}) USING delta {how.clause} {properties}")
    if how.then:
        lake.spark.sql(f"ALTER TABLE {sql.table(location)} {how.then}")
    lake.spark.sql(f"INSERT INTO {sql.table(location)} (k, v) VALUES (1, 'a')")
    return lake.found(location)


@pytest.mark.parametrize("how", SEALED.values(), ids=SEALED)
def test_spark_reads_and_writes_on_after_a_seal_of_this_process(lake: Lake, how: Made) -> None:
    target = made(lake, how)
    stamp, before = lake.stamp(target), lake.log.newest(target.location)
    assert DeltaSeals().commit(target, stamp) is None
    lake.session.mark(target, stamp)  # its marker is in: Spark commits nothing
    assert lake.log.newest(target.location) == before + 1
    lake.spark.sql(f"INSERT INTO {sql.table(target.location)} (k, v) VALUES (2, 'b')")
    if "append" not in how.properties:
        lake.spark.sql(f"UPDATE {sql.table(target.location)} SET v = 'c' WHERE k = 1")
    assert lake.spark.read.format("delta").load(target.location).count() == 2
    assert lake.log.markers(target.location) == {stamp.app_id: stamp.marker.version}


@pytest.mark.parametrize("how", LEFT_TO_SPARK.values(), ids=LEFT_TO_SPARK)
def test_tables_to_which_delta_rs_does_not_commit_are_left_to_spark(lake: Lake, how: Made) -> None:
    target = made(lake, how)
    before = lake.log.newest(target.location)
    assert DeltaSeals().commit(target, lake.stamp(target)) == Unsealed.FEATURES
    assert lake.log.newest(target.location) == before
