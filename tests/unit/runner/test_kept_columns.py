"""Columns of a target that its query does not give: kept as they are, or dropped."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.definition.own_columns import Fill, OwnColumn
from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.errors import Refused
from tests.unit.runner.world import INPUT, NAME, TARGET, World, definition, ordered, row

NOTE = Column(name="note", type="string")
WIDE: Columns = (Column(name="k", type="int"), Column(name="v", type="string"), NOTE)


def world_with(rows: list[dict[str, Any]], target: list[dict[str, Any]], **changes: Any) -> World:
    """A target that is there before the first refresh, with one column more than the query gives."""
    world = World(*rows, adopt=True, **changes)
    world.lake.create(TARGET, WIDE, target)
    return world


KEEP = {"on_schema_change": {"dropped": "keep"}}


def test_kept_columns_stay_and_are_null_in_new_rows() -> None:
    many = [row(k) for k in range(30)]
    target = [{**row(k, "old"), "note": f"n{k}"} for k in range(10)]
    world = world_with(many, target, **KEEP)

    result = world.run()

    assert result.rows == Rows(inserted=20, updated=10)
    assert world.target() == ordered(row(k) | ({"note": f"n{k}"} if k < 10 else {}) for k in range(30))
    assert [notice.code for notice in result.notices] == ["columns_kept"]
    assert "note" in result.notices[0].message
    notes = [read_note(commit.note) for commit in world.commits]
    assert {note.way for note in notes if note and note.kind is NoteKind.CHUNK} == {Way.MERGE}


def test_kept_columns_are_no_difference() -> None:
    world = world_with([row(1)], [{**row(1), "note": "mine"}], **KEEP)
    assert world.refreshes.compare_only(NAME, 3).equal
    assert world.run().rows == Rows(unchanged=1)


def test_a_dropped_column_leaves_the_target() -> None:
    world = world_with([row(1)], [{**row(1), "note": "gone"}], on_schema_change={"dropped": "drop"})
    world.run()
    assert [c.name for c in world.lake.table(TARGET).newest.columns] == ["k", "v"]


def test_without_leave_nothing_is_changed() -> None:
    world = world_with([row(1)], [{**row(1), "note": "mine"}])
    with pytest.raises(Refused, match=r"column note \(string\)"):
        world.run()
    assert len(world.commits) == 2


def test_an_identity_column_is_refused_when_the_definition_is_registered() -> None:
    world = world_with([row(1)], [])
    world.lake.table(TARGET).own = (OwnColumn(name="k", fill=Fill.IDENTITY_ALWAYS),)
    with pytest.raises(Refused, match="numbers its rows by the column k"):
        world.refreshes.register(definition(adopt=True, query="SELECT k, v FROM x"))


def test_a_wider_type_of_the_result_is_taken_over() -> None:
    world = World(row(1), on_schema_change={"retyped": "widen"})
    world.run()
    world.lake.reshape(INPUT, (Column(name="k", type="bigint"), Column(name="v", type="string")))
    world.become(row(2))
    world.run()
    assert world.fresh()
    assert world.lake.table(TARGET).newest.columns[0].type == "bigint"
