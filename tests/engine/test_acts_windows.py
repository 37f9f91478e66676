"""Change sets of windows on real Delta: whatever was done to the input, they make the target what the query gives."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.sources import ChangeSource
from airflow_refresh_provider.core.definition.columns import DOUBTFUL
from airflow_refresh_provider.core.plan.plan import ChangeCounts, StagedTable, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.input_history import history
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.ports.tasks import Comparison, Source, WindowTask
from airflow_refresh_provider.runner.windows.row_windows import as_comparison
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import Lake, source

ROWS = (
    "SELECT CAST(id AS INT) AS k, concat('k''', id % 3) AS p, id AS v, if(id % 3 = 0, NULL, array(id)) AS a, "
    "map('n', id) AS m FROM range({ids})"
)
QUERY = "SELECT k + 1000 AS key, p AS `part 2`, v * 2 AS v, a, m FROM x WHERE v >= 0"
KEYS = ("key", "part 2")


class Input:
    """A Delta table, changed by statements; `t` in them stands for it.

    One whose changes are read from files has no feed, but partitions, and other column names in its files.
    """

    def __init__(self, lake: Lake, *, vectors: bool, ids: str = "0, 30", by: ChangeSource = ChangeSource.FEED) -> None:
        self.lake = lake
        self.by = by
        self.said_bytes = 0 if vectors else 2 << 20  # little is read by one task, more is shuffled by key
        self.location = lake.place("input")
        looks, how = f"'delta.enableDeletionVectors' = '{str(vectors).lower()}', ", ""
        match by:
            case ChangeSource.FEED:
                looks += "'delta.enableChangeDataFeed' = 'true'"
            case ChangeSource.FILES:
                looks += "'delta.columnMapping.mode' = 'name'"
                how = "PARTITIONED BY (p)"
        self.do(f"CREATE TABLE {{t}} USING delta {how} TBLPROPERTIES ({looks}) AS {ROWS.format(ids=ids)}")
        self.applied = self.pin

    @property
    def pin(self) -> DeltaPin:
        facts = self.lake.log.facts(self.location)
        assert facts is not None
        return DeltaPin(
            location=self.location, table_id=facts.table_id, version=facts.version, rows=facts.rows, bytes=facts.bytes
        )

    def do(self, *statements: str) -> None:
        for statement in statements:
            self.lake.spark.sql(statement.replace("{t}", sql.table(self.location))).collect()

    def source(self, pin: DeltaPin | None = None) -> Source:
        return source(QUERY, *KEYS, pins={"x": pin or self.pin})

    @property
    def means(self) -> dict[ChangeSource, int]:
        """The sources of its changes, with the bytes to be read."""
        return {t.source: t.bytes for t in self.history.change_sources}

    @property
    def history(self) -> InputHistory:
        found = history(self.applied, self.pin)
        assert found is not None
        return found


def refreshed(given: Input, *, by_vnode: bool = False) -> Target:
    target = given.lake.target(given.source(), by_vnode=by_vnode)
    given.lake.load(target, given.source())
    return target


def read(given: Input, target: Target, *, deletes: bool = True) -> Comparison:
    """The change set of everything that has not been applied."""
    facts = given.lake.log.facts(target.location)
    assert facts is not None
    assert facts.rows is not None
    changes = staged(given, target, deletes=deletes)
    rows = StagingFolders().changes(changes)
    assert DOUBTFUL not in {op for _, op in rows}
    return as_comparison(changes, rows, facts.rows)


def staged(given: Input, target: Target, *, deletes: bool = True) -> StagedTable:
    task = WindowTask(
        source=given.source(),
        changes={"x": kind_of("delta").changes(given.applied, given.pin, given.by, given.lake.place("files"), {})},
        target=target,
        base=given.lake.log.newest(target.location),
        location=given.lake.place("changes"),
        stamp=given.lake.stamp(target),
        deletes=deletes,
        partitioned=False,
        bytes=given.said_bytes,
    )
    return given.lake.session.read_windows(task)


def apply(given: Input, target: Target, found: Comparison, way: Way = Way.MERGE) -> None:
    """Apply it; a comparison of everything then finds no difference."""
    given.lake.apply(target, given.source(), found, way)
    assert given.lake.compare(target, given.source()).total == ChangeCounts()
    given.applied = given.pin


DONE = {
    "nothing": [],
    "insert": [f"INSERT INTO {{t}} {ROWS.format(ids='30, 40')}"],
    "update": ["UPDATE {t} SET v = v + 1 WHERE k % 4 = 0"],
    "delete": ["DELETE FROM {t} WHERE k % 4 = 0"],
    "rows leave the filter and come back": [
        "UPDATE {t} SET v = -1 WHERE k < 5",
        "UPDATE {t} SET v = 7 WHERE k < 2",
    ],
    "keys move": ["UPDATE {t} SET k = k + 1"],
    "inserted and deleted": [
        f"INSERT INTO {{t}} {ROWS.format(ids='30, 40')}",
        "DELETE FROM {t} WHERE k >= 30",
    ],
    "deleted and inserted": [
        "DELETE FROM {t} WHERE k < 10",
        f"INSERT INTO {{t}} {ROWS.format(ids='0, 5')}",
        "UPDATE {t} SET v = 99 WHERE k = 1",
    ],
    "changed and changed back": ["UPDATE {t} SET v = v + 1", "UPDATE {t} SET v = v - 1"],
    "merge": [
        f"MERGE INTO {{t}} t USING ({ROWS.format(ids='20, 40')}) s ON t.k = s.k "
        "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -s.v WHEN NOT MATCHED THEN INSERT *"
    ],
    "overwrite": [f"INSERT OVERWRITE {{t}} {ROWS.format(ids='10, 50')}"],
    "truncate": ["TRUNCATE TABLE {t}"],
    "restore": ["DELETE FROM {t} WHERE k < 10", "OPTIMIZE {t}", "RESTORE TABLE {t} TO VERSION AS OF 0"],
    "vectors of one file twice": [
        "DELETE FROM {t} WHERE k < 5",
        "OPTIMIZE {t}",
        "RESTORE TABLE {t} TO VERSION AS OF 0",
        "DELETE FROM {t} WHERE k < 10",
    ],
    "optimize between": [
        "DELETE FROM {t} WHERE k < 10",
        f"INSERT INTO {{t}} {ROWS.format(ids='30, 40')}",
        "OPTIMIZE {t}",
        "UPDATE {t} SET a = NULL, m = map() WHERE k > 20",
    ],
}


ANYTHING = [
    f"MERGE INTO {{t}} t USING ({ROWS.format(ids='{n}, {n} + 9')}) s ON t.k = s.k "
    "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -s.v WHEN NOT MATCHED THEN INSERT *",
    "DELETE FROM {t} WHERE k BETWEEN {n} AND {n} + 3",
    "UPDATE {t} SET v = v + 1, p = concat(p, '/%') WHERE k > {n}",
    "UPDATE {t} SET a = array({n}) WHERE k % 5 = 0",
    "OPTIMIZE {t}",
    "RESTORE TABLE {t} TO VERSION AS OF 0",
    f"INSERT OVERWRITE {{t}} {ROWS.format(ids='{n}, {n} + 20')}",
]


PAIRS = [(what, (at + nth) % 2 == 0, by) for at, what in enumerate(DONE) for nth, by in enumerate(ChangeSource)]
"""Pairwise: each change with each source and with both kinds of deletes, but not with all four combinations."""


@pytest.mark.slow
@pytest.mark.parametrize(("what", "vectors", "by"), PAIRS)
def test_the_target_follows_any_change_of_the_input(lake: Lake, what: str, vectors: bool, by: ChangeSource) -> None:
    given = Input(lake, vectors=vectors, by=by)
    target = refreshed(given)
    given.do(*DONE[what])
    if not given.history.changed:
        assert what == "nothing"
        return
    found = read(given, target)
    compared = lake.compare(target, given.source())
    assert found.counts == compared.counts
    assert (found.source_rows, found.target_rows) == (compared.source_rows, compared.target_rows)
    apply(given, target, found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "by"),
    [(seed, by) for by, seeds in ((ChangeSource.FEED, (1, 2, 3)), (ChangeSource.FILES, (1, 4))) for seed in seeds],
)
def test_windows_of_anything_follow_each_other(lake: Lake, seed: int, by: ChangeSource) -> None:
    chance = random.Random(seed)
    given = Input(lake, vectors=bool(seed % 2), by=by)
    target = refreshed(given)
    for _ in range(2):
        given.do(*(chance.choice(ANYTHING).format(n=chance.randrange(40), t="{t}") for _ in range(4)))
        if given.history.changed:
            apply(given, target, read(given, target))


def test_windows_follow_each_other_in_layout_vnode(lake: Lake) -> None:
    given = Input(lake, vectors=True)
    target = refreshed(given, by_vnode=True)
    for what in ("rows leave the filter and come back", "keys move"):
        given.do(*DONE[what])
        apply(given, target, read(given, target))


def test_deletes_may_be_left_out(lake: Lake) -> None:
    given = Input(lake, vectors=True)
    target = refreshed(given)
    given.do("DELETE FROM {t} WHERE k < 5", "UPDATE {t} SET v = 100 WHERE k = 9")
    assert read(given, target, deletes=False).total == ChangeCounts(updated=1)


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO {{t}} {ROWS.format(ids='30, 33')} UNION ALL {ROWS.format(ids='31, 32')}",
        pytest.param("UPDATE {t} SET p = NULL WHERE k = 3", marks=pytest.mark.slow),
    ],
    ids=["twice", "null"],
)
def test_keys_that_identify_no_row_are_in_doubt(lake: Lake, statement: str) -> None:
    given = Input(lake, vectors=True)
    target = refreshed(given)
    given.do(statement)
    rows = StagingFolders().changes(staged(given, target))
    assert sum(count for (_, op), count in rows.items() if op == DOUBTFUL) == 1


def test_an_input_with_only_maintenance_has_not_changed(lake: Lake) -> None:
    given = Input(lake, vectors=False)
    given.do(f"INSERT INTO {{t}} {ROWS.format(ids='30, 40')}")
    given.applied = given.pin
    given.do("OPTIMIZE {t}", "ALTER TABLE {t} SET TBLPROPERTIES ('x' = 'y')")
    assert [c.operation for c in given.history.commits] == ["OPTIMIZE", "SET TBLPROPERTIES"]
    assert (given.history.changed, given.means[ChangeSource.FEED]) == (False, 0)


def test_a_feedless_input_says_how_much_is_to_be_read(lake: Lake) -> None:
    given = Input(lake, vectors=True, by=ChangeSource.FILES)
    size = given.pin.bytes
    assert size and given.means == {ChangeSource.FILES: 0}
    given.do(f"INSERT INTO {{t}} {ROWS.format(ids='30, 31')}")
    assert 0 < given.means[ChangeSource.FILES] == (given.pin.bytes or 0) - size < size
    first = given.history.commits[0].at
    assert given.history.readable_until == first + timedelta(days=30)  # of the log: new files stay
    given.do("OPTIMIZE {t}")
    assert given.history.readable_until == given.history.commits[1].at + timedelta(days=7)
    given.do("UPDATE {t} SET v = 0")
    assert given.means[ChangeSource.FILES] > size


@pytest.mark.parametrize(
    ("statements", "feed", "reshaped"),
    [
        (["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"], False, False),
        (
            [
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')",
                "DELETE FROM {t} WHERE k = 1",
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
            ],
            False,
            False,
        ),
        (["ALTER TABLE {t} ADD COLUMNS (w INT)"], True, True),
    ],
)
def test_what_makes_a_feed_unusable_is_seen(lake: Lake, statements: list[str], feed: bool, reshaped: bool) -> None:
    given = Input(lake, vectors=True)
    given.do(*statements)
    assert (ChangeSource.FEED in given.means, given.history.reshaped) == (feed, reshaped)


@pytest.mark.parametrize("by", [ChangeSource.FILES, pytest.param(ChangeSource.FEED, marks=pytest.mark.slow)])
def test_rows_written_by_delta_rs_are_followed_too(lake: Lake, by: ChangeSource) -> None:
    given = Input(lake, vectors=False, by=by)
    target = refreshed(given)
    table = DeltaTable(given.location)
    table.delete("k < 5")
    table.update(predicate="k = 7", updates={"v": "70"})
    apply(given, target, read(given, target))
