"""Keys of every type: compared, hashed to vnodes, and named as literals."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import Lake, source


def _text(value: str) -> str:
    """A string as SQL, spelled in a way that needs no quoting."""
    return f"CAST(unhex('{value.encode().hex()}') AS STRING)"


_TEXTS = ["", "it's", 'a "b"', "back\\slash\\", "\\'", "two\nlines\r\n\t", "日本 é", "%_`$${x}", "NULL", "\u0001"]
_KEYS = {
    "tinyint": ["-128", "0", "127"],
    "bigint": ["-9223372036854775808", "-1", "9223372036854775807"],
    "string": [_text(value) for value in _TEXTS],
    "date": ["'0001-01-01'", "'1582-10-10'", "'2024-02-29'"],
    "boolean": ["true", "false"],
}


def _rows(type_name: str, keys: list[str], v: int) -> Source:
    rows = ", ".join(f"({key}, {v})" for key in keys)
    return source(f"SELECT v, CAST(k AS {type_name}) AS k FROM VALUES {rows} AS t(k, v)", "k")


_SLOW = ("tinyint", "bigint", "date", "boolean")  # composite keys have them too


@pytest.mark.parametrize(
    "type_name", [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in _KEYS]
)
def test_exactly_the_changed_keys_are_replaced(lake: Lake, type_name: str) -> None:
    keys = _KEYS[type_name]
    some = _rows(type_name, keys[1:], 1)
    target = lake.target(some)
    lake.load(target, some)

    assert lake.refresh(target, _rows(type_name, keys, 1), Way.KEYED_REPLACE) == ChangeCounts(inserted=1)
    assert lake.refresh(target, _rows(type_name, keys[:-1], 2), Way.KEYED_REPLACE) == ChangeCounts(
        updated=len(keys) - 1, deleted=1
    )


_LITERAL_SAFE = (
    "SELECT id AS v, CAST(id - 3 AS TINYINT) AS t, CAST(id % 2 AS SMALLINT) AS s, CAST(-id AS INT) AS i, id AS b, "
    "concat('k''', id % 3, '\\\\', id % 2) AS c, date_add(DATE'1969-12-30', CAST(id AS INT)) AS d, id % 2 = 0 AS o"
)
_OTHERS = (
    "SELECT id AS v, CAST(id / 7 AS DECIMAL(38, 10)) AS n, timestamp_micros(id - 5) AS m, "
    "CAST(timestamp_micros(id * 7) AS TIMESTAMP_NTZ) AS z, unhex(hex(id)) AS x, CAST(id AS DECIMAL(5, 0)) AS e, "
    "CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D ELSE id / 3D END AS f, CAST(id AS FLOAT) AS g"
)


@pytest.mark.parametrize(
    ("way", "select", "keys"),
    [
        (Way.KEYED_REPLACE, _LITERAL_SAFE, "odcbist"),
        pytest.param(Way.MERGE, _OTHERS, "fxzmgen", marks=pytest.mark.slow),
        pytest.param(Way.REPLACE_TABLE, _OTHERS, "xnf", marks=pytest.mark.slow),
    ],
)
def test_composite_keys_of_all_types_in_another_order_than_the_columns(
    lake: Lake, way: Way, select: str, keys: str
) -> None:
    first = source(f"{select} FROM range(12)", *keys)
    then = source(f"{select.replace('id AS v', 'id + id % 2 AS v')} FROM range(5, 15)", *keys)
    target = lake.target(first, by_vnode=way is Way.KEYED_REPLACE)
    lake.load(target, first)

    assert lake.refresh(target, then, way) == ChangeCounts(inserted=3, updated=4, deleted=5)


@pytest.mark.slow
def test_many_rows_are_replaced_by_keys_of_all_types(lake: Lake) -> None:
    first = source(f"{_OTHERS} FROM range(12)", *"fxzmgen")
    then = source(f"{_OTHERS.replace('id AS v', 'id + id % 2 AS v')} FROM range(15)", *"fxzmgen")
    target = lake.target(first)
    lake.load(target, first)

    assert lake.refresh(target, then, Way.REPLACE_ON) == ChangeCounts(inserted=3, updated=6)


def test_files_are_passed_over_by_single_columns_of_a_key(lake: Lake) -> None:
    select = _LITERAL_SAFE.replace("date_add(DATE'1969-12-30', CAST(id AS INT)) AS d, ", "")
    many = source(f"{select} FROM range(100)", *"ocbist")
    target = lake.target(many)
    lake.load(target, many)
    few = source(f"{select.replace('id AS v', 'if(id IN (7, 50), 0, id) AS v')} FROM range(100)", *"ocbist")
    assert lake.refresh(target, few, Way.KEYED_REPLACE) == ChangeCounts(updated=2)
    commit = lake.spark.sql(f"DESCRIBE HISTORY {sql.table(target.location)}").first()
    assert commit is not None
    predicate = commit.operationParameters["predicate"]
    assert "b IN (7L, 50L)" in predicate.replace("`", "") and "xxhash64" not in predicate
    all_changed = source(f"{select.replace('id AS v', '-id AS v')} FROM range(100)", *"ocbist")
    assert lake.refresh(target, all_changed, Way.KEYED_REPLACE).updated >= 99


def test_texts_of_a_key_are_distinguished(lake: Lake) -> None:
    """Together they read the same."""

    def rows(v: int) -> Source:
        keys = f"('a\\u0001', 'b', {v}), ('a', '\\u0001b', 0), ('a', 'c', {v}), ('x', '\\u0001b', {v})"
        return source(f"SELECT * FROM VALUES {keys} AS t(a, b, v)", "a", "b")

    target = lake.target(rows(1))
    lake.load(target, rows(1))
    assert lake.refresh(target, rows(2), Way.KEYED_REPLACE) == ChangeCounts(updated=3)


def test_keys_with_the_same_hash_are_distinguished(lake: Lake) -> None:
    """Rows are looked up by the hash of their keys: the first two have the same one."""

    def rows(v: int) -> Source:
        keys = f"(1, 10, {v}), (2, -9008876430066548682, 0), (3, 30, 0)"
        return source(f"SELECT CAST(a AS BIGINT) AS a, b, v FROM VALUES {keys} AS t(a, b, v)", "a", "b")

    target = lake.target(rows(1))
    lake.load(target, rows(1))
    hashes = lake.spark.read.format("delta").load(target.location).selectExpr(sql.key_hash(target.columns[:2]))

    assert hashes.distinct().count() == 2
    compared = lake.compare(target, rows(2))
    assert sum(StagingFolders().changes(compared.changes).values()) == 1
    assert lake.refresh(target, rows(2), Way.REPLACE_ON) == ChangeCounts(updated=1)


def test_changes_are_counted_in_the_vnodes_they_touch_and_only_wanted_vnodes_are_compared(lake: Lake) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(20)", "k")
    target = lake.target(first, by_vnode=True)
    lake.load(target, first)
    one = source("SELECT id AS k, if(id = 7, 2, 1) AS v FROM range(20)", "k")
    all_of_them = source("SELECT id AS k, 2 AS v FROM range(20)", "k")

    none_touched = lake.compare(target, first)
    one_touched = lake.compare(target, one)
    all_touched = lake.compare(target, all_of_them, one_chunk=0)
    [vnode] = one_touched.counts
    others = tuple(v for v in range(4) if v != vnode)
    restricted = lake.compare(target, one, vnodes=others)

    assert none_touched.counts == {}
    assert (none_touched.source_rows, none_touched.target_rows, none_touched.keys.rows) == (20, 20, 0)
    assert one_touched.total == ChangeCounts(updated=1)
    assert set(all_touched.counts) == set(range(4))
    assert all_touched.total == ChangeCounts(updated=20)
    assert restricted.counts == {}
    assert restricted.source_rows == restricted.target_rows == 20 - all_touched.counts[vnode].updated
