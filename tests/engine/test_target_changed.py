"""Columns of a target that are dropped while its changes are being applied."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import VECTORS, Lake, source

MAPPED = VECTORS | {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    "way", [Way.MERGE, *(pytest.param(way, marks=pytest.mark.slow) for way in (Way.KEYED_REPLACE, Way.REPLACE_ON))]
)
def test_changes_that_no_longer_fit_their_target_say_so_and_change_nothing(lake: Lake, way: Way) -> None:
    first, then = (source(f"SELECT id, id + {n} AS v FROM range(20)", "id") for n in (0, 1))
    target = lake.target(first, properties=MAPPED)
    lake.load(target, first)
    compared = lake.compare(target, then)
    lake.spark.sql(f"ALTER TABLE {sql.table(target.location)} DROP COLUMN v").collect()
    newest = lake.log.newest(target.location)

    with pytest.raises(Failed, match="have changed since its changes were staged") as caught:
        lake.apply(target, then, compared, way)

    assert caught.value.code == "target_changed"
    assert lake.log.newest(target.location) == newest
