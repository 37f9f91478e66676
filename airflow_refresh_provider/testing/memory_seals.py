"""Seals of tables of a lake in memory, committed as delta-rs does it."""

from __future__ import annotations

from airflow_refresh_provider.core.plan.checkpoints import checkpoint_is_due
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.seals import Unsealed
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_table import Change


class MemorySeals:
    """The fake of `Seals`."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def commit(self, target: Target, stamp: Stamp) -> Unsealed | None:
        """Commit the stamp, unless any other commit comes first."""
        table = self._lake.table(target.location)
        if table.newest.markers.get(stamp.app_id, 0) >= stamp.marker.version:
            return None
        if table.clustered:
            return Unsealed.FEATURES
        if checkpoint_is_due(table.newest.commit.version, table.newest.properties):
            return Unsealed.CHECKPOINT
        self._lake.transact(target.location, lambda _base: Change("WRITE", reads=None, next_version=True), stamp)
        return None
