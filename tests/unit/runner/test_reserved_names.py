"""Columns of users that are named like hidden columns: read as they are, and refused where they cannot be kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.columns import RESERVED, ROW_HASH, Column
from airflow_refresh_provider.errors import Invalid, Refused
from tests.unit.runner.world import COLUMNS, INPUT, ONE, TARGET, World, definition, row

OWN = (*COLUMNS, Column(name=ROW_HASH, type="string"))


def with_own_column(**changes: object) -> World:
    world = World()
    del world.lake.tables[INPUT]
    world.lake.create(INPUT, OWN, [row(1) | {ROW_HASH: "abc"}])
    world.refreshes.register(definition(owner="changed", **changes))
    return world


def test_a_result_with_a_reserved_name_is_refused_before_a_target_is_made() -> None:
    world = with_own_column()
    with pytest.raises(Invalid, match="the reserved column _row_hash") as refused:
        world.run()
    assert (refused.value.code, "AS ..." in refused.value.next) == ("reserved_column", True)
    assert TARGET not in world.lake.tables


@pytest.mark.parametrize("layout", ["plain", "vnode"])
def test_another_name_in_the_query_keeps_the_column(layout: str) -> None:
    world = with_own_column(query=f"SELECT k, v, {ROW_HASH} AS h FROM x", layout=layout)
    world.run()
    assert world.target() == [row(1) | {"h": "abc"}]


def test_a_table_with_such_a_column_is_not_taken_over_as_if_it_were_hidden() -> None:
    world = World(row(1), adopt=True)
    world.lake.create(TARGET, OWN, [row(1) | {ROW_HASH: "abc"}])
    with pytest.raises(Refused, match="a column with the reserved name _row_hash") as refused:
        world.run()
    assert (refused.value.code, "RENAME COLUMN" in refused.value.next) == ("reserved_target_column", True)
    assert len(world.commits) == 2


NAMES = ("_row_hash", "_ROW_HASH", "_vnode", "_Vnode", "_op", "_OP", "v", "row_hash", "_row_hash_")


@given(
    st.lists(st.sampled_from(NAMES), unique_by=str.lower, min_size=1, max_size=5),
    st.sets(st.sampled_from(NAMES)),
    st.booleans(),
    st.sampled_from(["plain", "vnode"]),
)
def test_no_column_of_a_user_vanishes(names: list[str], renamed: set[str], star: bool, layout: str) -> None:
    world = World()
    del world.lake.tables[INPUT]
    kept = {name: f"{name} of a user" for name in names}
    own = tuple(Column(name=name, type="string") for name in names)
    world.lake.create(INPUT, (COLUMNS[0], *own), [{"k": 1} | kept])
    result = {name: name if star or name not in renamed else f"a{n}" for n, name in enumerate(names)}
    listed = ", ".join(f"`{name}` AS `{alias}`" for name, alias in result.items())
    query = "SELECT * FROM x" if star else f"SELECT k, {listed} FROM x"
    world.refreshes.register(definition(query=query, layout=layout))
    if {name.lower() for name in result.values()} & RESERVED:
        with pytest.raises(Invalid, match="reserved"):
            world.run()
        assert TARGET not in world.lake.tables
        return
    world.run()
    [found] = world.lake.rows(TARGET)
    assert {name: found.get(name) for name in result.values()} == {result[name]: text for name, text in kept.items()}
    assert [c.name for c in world.lake.table(TARGET).newest.columns][: 1 + len(names)] == ["k", *result.values()]


def test_hidden_columns_of_a_target_are_hidden_from_those_who_read_it() -> None:
    world = World(row(1), row(2), layout="vnode", vnodes=2)
    world.run()
    world.refreshes.register(definition(name="copy", target="/gold/copy", inputs={"x": {"path": TARGET}}))
    world.refreshes.run("copy", ONE)
    assert [c.name for c in world.lake.table("/gold/copy").newest.columns] == ["k", "v"]
