"""Another writer commits to a small target just before it is rewritten: what no longer fits is merged by Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.ports.small_tables import SmallTables, Unfit
from airflow_refresh_provider.ports.tasks import ApplyTask
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.cases.case import Case

_FED = "USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"


class Overtaken:
    """Small tables to which something happens once, before the first is rewritten; `found`: what became of that."""

    def __init__(self, tables: SmallTables, act: Callable[[], None]) -> None:
        self._tables = tables
        self._acts = [act]
        self.found: list[Unfit | None] = []

    def fits(self, target: Target, keys: tuple[str, ...], changes: StagedTable, base: int) -> bool:
        return self._tables.fits(target, keys, changes, base)

    def rewrite(self, task: ApplyTask) -> Unfit | None:
        if self._acts:
            self._acts.pop()()
        self.found.append(self._tables.rewrite(task))
        return self.found[-1]


@pytest.fixture
def small(case: Case) -> Case:
    """A small target, and one row of its input changed, one removed and one new."""
    case.do(f"CREATE TABLE {{src}} {_FED} AS SELECT CAST(id AS INT) AS id, concat('v', id) AS v FROM range(10)")
    case.define("SELECT id, v FROM src", mode="incremental")
    case.refresh()
    case.do(
        "UPDATE {src} SET v = 'new' WHERE id = 3",
        "DELETE FROM {src} WHERE id = 4",
        "INSERT INTO {src} VALUES (20, 'v')",
    )
    return case


def _way(case: Case, before: int) -> str | None:
    """How the first chunk after a version was applied."""
    commits = DeltaTableLog().commits(case.place("target"), after=before)
    return next(note.way for commit in commits if (note := read_note(commit.note)) and note.way)


@pytest.mark.parametrize(
    ("foreign", "found"),
    [
        ("INSERT INTO {target} VALUES (20, 'foreign')", Unfit.MISFIT),
        ("DELETE FROM {target} WHERE id = 3", Unfit.MISFIT),
        ("INSERT INTO {target} SELECT CAST(id AS INT), 'foreign' FROM range(100, 30000)", Unfit.NOT_SMALL),
        ("INSERT INTO {target} VALUES (30, 'foreign')", None),
    ],
)
def test_spark_merges_what_no_longer_fits(small: Case, foreign: str, found: Unfit | None) -> None:
    tables = Overtaken(small.refreshes.ports.small_tables, lambda: small.do(foreign))
    before = DeltaTableLog().newest(small.place("target"))
    small.refreshes = Refreshes(replace(small.refreshes.ports, small_tables=tables))
    small.refresh()
    assert tables.found[0] == found
    assert _way(small, before) == ("merge" if found else "small_table")
