"""How a target's columns follow those of a result: what differs, and what is then done or refused."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.evolution import Evolution, check_settled, evolution
from airflow_refresh_provider.core.definition.own_columns import Fill, OwnColumn, check_own_columns
from airflow_refresh_provider.core.definition.schema_change import schema_change
from airflow_refresh_provider.core.definition.widening import widens
from airflow_refresh_provider.errors import Refused


def columns(*pairs: str) -> Columns:
    return tuple(Column(name=p.partition(":")[0], type=p.partition(":")[2]) for p in pairs)


def definition(**changes: Any) -> Definition:
    given: dict[str, Any] = {
        "name": "d",
        "target": "/t",
        "query": "SELECT * FROM x",
        "inputs": {"x": {"path": "/x"}},
        "keys": ["k"],
    }
    return Definition.build(**(given | changes))


def differences(target: Columns, result: Columns) -> list[str]:
    return [f"{c.difference} {c.name} {c.was or ''} {c.type}".replace("  ", " ") for c in schema_change(target, result)]


def decided(
    target: Columns, result: Columns, own: tuple[OwnColumn, ...] = (), parted: tuple[str, ...] = (), **changes: Any
) -> Evolution:
    return evolution(definition(**changes), schema_change(target, result), own, parted)


def test_a_schema_change_names_what_is_added_dropped_and_retyped_whatever_the_case() -> None:
    target = columns("K:int", "a:int", "b:int", "_vnode:int")
    assert differences(target, columns("k:int", "B:bigint", "c:date")) == [
        "dropped a int",
        "retyped b int bigint",
        "added c date",
    ]
    assert not differences(columns("a:int", "b:int"), columns("B:int", "A:int"))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("struct<`a`:int>", "struct<`a`:int,`b`:string>", ["added s.b string"]),
        ("struct<`a`:int,`b`:string>", "struct<`B`:string,`A`:int>", []),
        ("array<struct<`k`:int>>", "array<struct<`k`:int,`n`:int>>", ["added s.element.n int"]),
        ("map<string,struct<`k`:int,`o`:date>>", "map<string,struct<`k`:int>>", ["dropped s.value.o date"]),
        (
            "map<int,array<int>>",
            "map<bigint,array<bigint>>",
            ["retyped s.key int bigint", "retyped s.value.element int bigint"],
        ),
        ("struct<`a``b`:int>", "struct<`a``b`:int,`x:y`:decimal(5,2)>", ["added s.x:y decimal(5,2)"]),
        ("struct<`a`:int>", "array<int>", ["retyped s struct<`a`:int> array<int>"]),
    ],
)
def test_fields_inside_of_columns_are_compared_one_by_one(old: str, new: str, found: list[str]) -> None:
    assert differences(columns(f"s:{old}"), columns(f"s:{new}")) == found


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("tinyint", "double", True),
        ("bigint", "double", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("int", "string", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(12,3)", False),
        ("bigint", "decimal(20,0)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(12,5)", False),
        ("decimal(10,2)", "decimal(10,2)", False),
    ],
)
def test_types_widen_where_every_value_stays(old: str, new: str, wider: bool) -> None:
    assert widens(old, new) is wider


def test_columns_are_added_unless_that_is_refused() -> None:
    target, result = columns("k:int"), columns("k:int", "c:date")
    assert [c.name for c in decided(target, result).added] == ["c"]
    with pytest.raises(Refused, match=r"column c \(date\) is new in the result") as raised:
        decided(target, result, on_schema_change={"added": "refuse"})
    assert "`added: add`" in raised.value.next


def test_a_dropped_column_is_refused_kept_or_dropped() -> None:
    target, result = columns("k:int", "a:int"), columns("k:int")
    with pytest.raises(Refused, match=r"column a \(int\) is in the target and no longer in the result") as raised:
        decided(target, result)
    assert "`dropped: keep` or `dropped: drop`" in raised.value.next and "delete" not in raised.value.next
    assert not decided(target, result, on_schema_change={"dropped": "keep"})
    assert [c.name for c in decided(target, result, on_schema_change={"dropped": "drop"}).dropped] == ["a"]


def test_neither_a_field_is_kept_nor_a_partition_column_dropped() -> None:
    nested = columns("k:int", "s:struct<`a`:int,`b`:int>"), columns("k:int", "s:struct<`a`:int>")
    with pytest.raises(Refused, match=r"field s.b .* cannot be kept"):
        decided(*nested, on_schema_change={"dropped": "keep"})
    assert [c.name for c in decided(*nested, on_schema_change={"dropped": "drop"}).dropped] == ["s.b"]
    with pytest.raises(Refused, match="the target is partitioned by it"):
        decided(columns("k:int", "p:int"), columns("k:int"), parted=("P",), on_schema_change={"dropped": "drop"})


def test_the_wider_of_two_types_is_taken_where_that_is_allowed() -> None:
    narrow, wide = columns("k:int", "v:int"), columns("k:int", "v:bigint")
    with pytest.raises(Refused, match="column v was int and would become bigint") as raised:
        decided(narrow, wide)
    assert "`retyped: widen`" in raised.value.next
    widen: dict[str, Any] = {"on_schema_change": {"retyped": "widen"}}
    assert [(c.name, c.type) for c in decided(narrow, wide, **widen).widened] == [("v", "bigint")]
    assert not decided(wide, narrow, **widen)
    with pytest.raises(Refused, match="was int and would become string") as raised:
        decided(narrow, columns("k:int", "v:string"), **widen)
    assert "widen" not in raised.value.next


def test_a_key_by_which_rows_are_hashed_keeps_its_type() -> None:
    with pytest.raises(Refused, match="hashed into vnodes"):
        decided(columns("k:int"), columns("k:bigint"), layout="vnode", on_schema_change={"retyped": "widen"})


def test_columns_that_the_table_fills_stay() -> None:
    own = tuple(OwnColumn(name=fill.value, fill=fill) for fill in Fill)
    target = columns("k:int", *(f"{fill.value}:int" for fill in Fill if fill is not Fill.NULL))
    assert not decided(target, columns("k:int"), own)
    assert not decided(target, columns("k:int"), own, on_schema_change={"dropped": "drop"})


@pytest.mark.parametrize(
    ("column", "result", "code"),
    [
        (OwnColumn(name="Id", fill=Fill.IDENTITY_ALWAYS), ("id", "v"), "identity_column"),
        (OwnColumn(name="v", fill=Fill.IDENTITY), ("id", "v"), "identity_column"),
        (OwnColumn(name="id", fill=Fill.IDENTITY), ("id", "v"), None),
        (OwnColumn(name="n", fill=Fill.IDENTITY_ALWAYS, required=True), ("id", "v"), None),
        (OwnColumn(name="n", required=True), ("id", "v"), "required_column"),
        (OwnColumn(name="n", fill=Fill.DEFAULT, required=True), ("id", "v"), None),
        (OwnColumn(name="v", required=True), ("id", "V"), None),
    ],
)
def test_what_a_table_can_never_be_given_is_refused(
    column: OwnColumn, result: tuple[str, ...], code: str | None
) -> None:
    if code is None:
        check_own_columns([column], result, ("ID",), "/t")
        return
    with pytest.raises(Refused, match=column.name) as raised:
        check_own_columns([column], result, ("ID",), "/t")
    assert raised.value.code == code and "/t" in raised.value.message


def test_a_target_is_compared_only_with_the_columns_of_the_result() -> None:
    check_settled(Evolution(), "/t")
    with pytest.raises(Refused, match=r"will first add c \(date\)"):
        check_settled(decided(columns("k:int"), columns("k:int", "c:date")), "/t")
