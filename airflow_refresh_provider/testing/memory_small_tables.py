"""Small tables of a lake in memory, rewritten as delta-rs does it."""

from __future__ import annotations

from collections import Counter

from airflow_refresh_provider.core.definition.columns import OP
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.ports.small_tables import Unfit
from airflow_refresh_provider.ports.tasks import ApplyTask
from airflow_refresh_provider.testing.memory_apply import stored
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_reads import MemoryLog
from airflow_refresh_provider.testing.memory_rows import Keys, key_of
from airflow_refresh_provider.testing.memory_table import Change, Rows, Version


class MemorySmallTables:
    """The fake of `SmallTables`."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def fits(self, target: Target, keys: Keys, changes: StagedTable, base: int) -> bool:
        """Whether the target has the row that each change means."""
        return _fit(self._lake.rows(target.location, base), self._lake.rows(changes.location), keys)

    def rewrite(self, task: ApplyTask) -> Unfit | None:
        """Overwrite the target, unless any other commit comes first."""
        location, keys = task.target.location, task.source.keys
        facts = MemoryLog(self._lake).facts(location)
        if task.changes is None or facts is None or not facts.small or facts.types != task.target.columns:
            return Unfit.NOT_SMALL
        changes = self._lake.rows(task.changes.location)
        touched = {key_of(r, keys) for r in changes}
        upserts = tuple(stored(r, task.target) for r in changes if r[OP] != "D")

        def decide(base: Version) -> Change:
            if not _fit(base.rows, changes, keys):
                raise _Misfit
            kept = tuple(r for r in base.rows if key_of(r, keys) not in touched)
            return Change("WRITE", (*kept, *upserts), tuple(base.files), reads=None, next_version=True)

        try:
            self._lake.transact(location, decide, task.stamp)
        except _Misfit:
            return Unfit.MISFIT
        return None


class _Misfit(Exception):
    """The rows do not fit the changes."""


def _fit(rows: Rows, changes: Rows, keys: Keys) -> bool:
    found = Counter(key_of(r, keys) for r in rows)
    return all(found[key_of(r, keys)] == (r[OP] != "I") for r in changes)
