"""Spark SQL as text. Whether Spark reads it as meant is shown by the tests of the engine."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.plan import HashRange
from airflow_refresh_provider.spark.acts import sql

_KEYS = (Column(name="b", type="bigint"), Column(name="a", type="string"))


def test_a_name_is_quoted_with_its_backticks_doubled() -> None:
    assert sql.name("a`b") == "`a``b`"
    assert sql.name("a b", "t") == "t.`a b`"
    assert sql.names(["x", "y"], "t") == "t.`x`, t.`y`"
    assert sql.table("/x `y`/z") == "delta.`/x ``y``/z`"


def test_a_text_keeps_quotes_backslashes_and_line_ends() -> None:
    assert sql.text("it's") == "'it\\'s'"
    assert sql.text("a\\n") == "'a\\\\n'"
    assert sql.text("a\nb\rc") == "'a\\nb\\rc'"
    assert sql.text("ü%_") == "'ü%_'"


@pytest.mark.parametrize(
    ("value", "type_name", "expected"),
    [
        ("it's", "string", "'it\\'s'"),
        ("true", "boolean", "CAST(true AS boolean)"),
        ("-5", "tinyint", "CAST(-5 AS tinyint)"),
        ("-7", "bigint", "-7L"),
        (str(-(1 << 63)), "bigint", "(-9223372036854775807L - 1L)"),
    ],
)
def test_a_key_is_a_literal_of_its_own_type(value: str, type_name: str, expected: str) -> None:
    assert sql.literal(value, type_name) == expected


def test_key_columns_come_in_key_order_with_the_target_s_spelling() -> None:
    columns = (Column(name="A", type="string"), Column(name="v", type="int"), Column(name="b", type="bigint"))

    assert sql.key_columns(columns, ("B", "a")) == (columns[2], columns[0])


def test_keys_are_hashed_as_their_declared_types() -> None:
    assert sql.key_hash(_KEYS) == "xxhash64(CAST(`b` AS bigint), CAST(`a` AS string))"


def test_keys_are_looked_up_by_their_hash_and_decided_by_themselves() -> None:
    assert sql.same_keys_by_hash(_KEYS, "s", "d") == (
        "xxhash64(CAST(s.`b` AS bigint), CAST(s.`a` AS string)) = "
        "xxhash64(CAST(d.`b` AS bigint), CAST(d.`a` AS string)) "
        "AND s.`b` BETWEEN d.`b` AND d.`b` AND s.`a` BETWEEN d.`a` AND d.`a`"
    )


@pytest.mark.parametrize("types", [("bigint",), ("int", "int"), ("int", "smallint", "tinyint")])
def test_keys_that_fit_into_a_long_are_looked_up_as_they_are(types: tuple[str, ...]) -> None:
    keys = tuple(Column(name=f"k{i}", type=t) for i, t in enumerate(types))

    assert sql.same_keys_by_hash(keys, "s", "d") == sql.same_keys(keys, "s", "d")


@pytest.mark.parametrize("types", [("string",), ("bigint", "int"), ("date",)])
def test_other_keys_are_looked_up_by_hash(types: tuple[str, ...]) -> None:
    keys = tuple(Column(name=f"k{i}", type=t) for i, t in enumerate(types))

    assert sql.same_keys_by_hash(keys, "s", "d").startswith("xxhash64(")


def test_the_row_hash_leaves_hidden_columns_out_and_marks_nulls() -> None:
    columns = (*_KEYS, Column(name="_vnode", type="int"), Column(name="_row_hash", type="bigint"))

    assert sql.row_hash(columns, "t") == (
        "xxhash64(t.`b`, t.`a`, IF(t.`b` IS NULL OR t.`a` IS NULL, "
        "IF(t.`b` IS NULL, 1L, 0L) | IF(t.`a` IS NULL, 2L, 0L), 0L))"
    )
    assert sql.row_hash(columns[2:]) == "0L"


def test_a_chunk_is_its_vnodes_and_within_one_its_hash_range() -> None:
    assert sql.within("s._vnode", (), None, _KEYS, "s") == "true"
    assert sql.within("s._vnode", (1, 3), None, _KEYS, "s") == "s._vnode IN (1, 3)"
    assert sql.within("s._vnode", (1,), HashRange(low=-(1 << 63), high=-1), _KEYS[:1], "s") == (
        "s._vnode IN (1) AND xxhash64(CAST(s.`b` AS bigint)) BETWEEN (-9223372036854775807L - 1L) AND -1L"
    )
