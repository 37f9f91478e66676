"""Targets: made, extended, marked and shown; what belongs to the user stays as it was."""

from __future__ import annotations

import uuid

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.definition.schema_change import schema_change
from airflow_refresh_provider.core.log.note import NoteKind
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.tasks import TargetSpec
from tests.engine.acts import VECTORS, Lake, source


def test_a_target_is_made_once_and_its_properties_follow_the_definition(lake: Lake) -> None:
    columns = (Column(name="k", type="bigint"), Column(name="a b", type="struct<`x y`:int>"))
    spec = TargetSpec(location=lake.place(), columns=columns, properties={"own.note": 'it\'s \\ "it"\nü'})

    lake.session.prepare(spec)
    lake.session.prepare(spec)
    made = lake.log.facts(spec.location)
    lake.session.prepare(spec.model_copy(update={"properties": {"own.note": "other"}}))
    changed = lake.log.facts(spec.location)

    assert made is not None
    assert changed is not None
    assert (made.version, changed.version, changed.table_id) == (0, 1, made.table_id)
    assert (made.properties["own.note"], changed.properties["own.note"]) == ('it\'s \\ "it"\nü', "other")
    assert (made.types, changed.types) == (columns, columns)


def test_missing_columns_are_added_at_the_end_and_only_once(lake: Lake) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(3)", "k")
    then = source("SELECT id AS k, 1 AS v, if(id = 1, NULL, 'x') AS `new one`, array(id) AS a FROM range(3)", "k")
    target = lake.target(first)
    lake.load(target, first)

    evolved = Evolution(added=schema_change(target.columns, lake.session.describe(then)))
    lake.session.evolve(target.location, evolved)
    version = lake.log.newest(target.location)
    lake.session.evolve(target.location, evolved)

    assert lake.log.newest(target.location) == version
    extended = lake.found(target.location)
    assert extended.columns == lake.session.describe(then)
    assert lake.refresh(extended, then, Way.MERGE) == ChangeCounts(updated=3)


@pytest.mark.parametrize(
    "way",
    [
        Way.KEYED_REPLACE,
        Way.REPLACE_ON,
        pytest.param(Way.MERGE, marks=pytest.mark.slow),
        pytest.param(Way.REPLACE_TABLE, marks=pytest.mark.slow),
    ],
)
def test_a_row_moves_between_the_user_s_own_partitions(lake: Lake, way: Way) -> None:
    query = "SELECT id AS v, {p} AS `p q`, id AS k FROM range(8)"
    first = source(query.format(p="if(id = 7, NULL, concat('a/', id % 3))"), "k")
    then = source(query.format(p="if(id = 6, NULL, concat('a/', id % 2))"), "k")
    target = lake.target(first, partition_by=("p q",), properties=VECTORS | {"own.note": "kept"})
    lake.load(target, first)

    assert lake.refresh(target, then, way).deleted == 0
    facts = lake.log.facts(target.location)
    assert facts is not None
    assert (facts.table_id, facts.partitioned_by) == (target.table_id, ("p q",))
    assert facts.properties["own.note"] == "kept"
    assert facts.types == target.columns


@pytest.mark.slow
def test_a_replaced_table_stays_clustered(lake: Lake) -> None:
    first = source("SELECT id AS k, id % 3 AS c FROM range(8)", "k")
    target = lake.target(first, cluster_by=("c",))
    lake.load(target, first)

    for way, changed in ((Way.REPLACE_TABLE, 2), (Way.KEYED_REPLACE, 1)):
        then = source(f"SELECT id AS k, if(id < {changed}, 9, id % 3) AS c FROM range(8)", "k")
        lake.refresh(target, then, way)
    facts = lake.log.facts(target.location)
    assert facts is not None
    assert (facts.clustered, facts.table_id) == (True, target.table_id)


def test_a_mark_is_one_empty_commit_with_its_stamp_even_where_columns_may_not_be_null(lake: Lake) -> None:
    location = lake.place()
    lake.spark.sql(
        f"CREATE TABLE delta.`{location.replace('`', '``')}` "
        "(k BIGINT NOT NULL, s STRUCT<a: INT NOT NULL> NOT NULL, m MAP<STRING, ARRAY<INT>>, p DATE) "
        "USING delta PARTITIONED BY (p)"
    )
    target = lake.found(location)
    stamp = lake.stamp(target, NoteKind.FENCE)

    lake.session.mark(target, stamp)
    lake.session.mark(target, stamp)

    [commit] = lake.commits(target, after=0)
    assert commit.txns == {stamp.app_id: stamp.marker.version}
    assert commit.note == stamp.note.text()
    assert (commit.net_rows or 0, commit.bytes_added, commit.reshaped) == (0, 0, False)
    assert lake.log.markers(location) == commit.txns


def test_a_mark_leaves_nothing_behind_in_the_session(lake: Lake) -> None:
    target = lake.target(source("SELECT 1L AS k", "k"))
    lake.session.mark(target, lake.stamp(target, NoteKind.SEAL))

    lake.spark.sql(f"INSERT INTO delta.`{target.location.replace('`', '``')}` VALUES (1)").collect()

    plain = lake.commits(target, after=1)[0]
    assert (plain.txns, plain.note) == ({}, None)


def test_a_view_shows_one_version_without_hidden_columns(lake: Lake) -> None:
    first = source("SELECT id AS k, 'x' AS `a b` FROM range(3)", "k")
    target = lake.target(first, by_vnode=True)
    lake.load(target, first)
    then = source("SELECT id AS k, 'y' AS `a b` FROM range(5)", "k")
    lake.refresh(target, then, Way.MERGE)
    view = f"shown_{uuid.uuid4().hex}"

    for version, rows in ((1, 3), (2, 5)):
        lake.session.show_version(f"default.{view}", target.location, version, target.columns)
        shown = lake.spark.table(view)
        assert (shown.columns, shown.count()) == (["k", "a b"], rows)
    lake.spark.sql(f"DROP VIEW {view}")
