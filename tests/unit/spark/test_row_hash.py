"""What a value contributes to the hash of its row, as text. Whether it distinguishes values is shown on real Spark."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.text.type_text import split
from airflow_refresh_provider.spark.acts.row_hash import hashed


@pytest.mark.parametrize("type_name", ["int", "decimal(10,2)", "string", "string collate UTF8_LCASE", "timestamp_ntz"])
def test_a_plain_value_is_hashed_as_it_is_beside_its_mark(type_name: str) -> None:
    assert hashed([("v", type_name)]) == f"xxhash64(v, {_mask('v')})"


def test_values_share_a_mask() -> None:
    assert hashed([("a", "int"), ("b", "date")]) == f"xxhash64(a, b, {_mask('a', 'b')})"


def test_many_values_share_several_masks() -> None:
    names = [f"c{i}" for i in range(100)]
    expected = f"xxhash64({', '.join(names)}, {_mask(*names[:62])}, {_mask(*names[62:])})"
    assert hashed((name, "int") for name in names) == expected


def test_no_value_has_a_hash_too() -> None:
    assert hashed([]) == "0L"


def test_a_struct_is_taken_apart_and_marked_itself() -> None:
    leaves = "t.`s`.`a b`", "t.`s`.`c`.`d`"
    tested = "t.`s`", leaves[0], "t.`s`.`c`", leaves[1]
    found = hashed([("t.`s`", "struct<`a b`:int,c:struct<`d`:date>>")])
    assert found == f"xxhash64({', '.join(leaves)}, {_mask(*tested)})"


def test_elements_of_arrays_within_arrays_have_names_of_their_own() -> None:
    inner = f"transform(e0, e1 -> xxhash64(e1, {_mask('e1')}))"
    outer = f"transform(v, e0 -> xxhash64({inner}, size(e0), {_mask('e0')}))"
    assert hashed([("v", "array<array<int>>")]) == f"xxhash64({outer}, size(v), {_mask('v')})"


def test_the_entries_of_a_map_are_ordered_by_their_hashes() -> None:
    entry = f"xxhash64(e0.key, e0.value, {_mask('e0.key', 'e0.value')})"
    entries = f"array_sort(transform(map_entries(v), e0 -> {entry}))"
    assert hashed([("v", "map<string,decimal(5,2)>")]) == f"xxhash64({entries}, size(v), {_mask('v')})"


def test_a_variant_is_hashed_by_its_text_and_its_type() -> None:
    assert hashed([("v", "variant")]) == f"xxhash64(to_json(v), schema_of_variant(v), {_mask('v')})"


@pytest.mark.parametrize(
    ("text", "separator", "parts"),
    [
        ("int", ",", ["int"]),
        ("`a`:int,`b`:decimal(5,2)", ",", ["`a`:int", "`b`:decimal(5,2)"]),
        ("`a,``:<`:map<int,string>,b:int", ",", ["`a,``:<`:map<int,string>", "b:int"]),
        ("`a:``b`:struct<`c`:int>", ":", ["`a:``b`", "struct<`c`:int>"]),
    ],
)
def test_separators_in_brackets_and_quoted_names_do_not_count(text: str, separator: str, parts: list[str]) -> None:
    assert split(text, separator) == parts


def _mask(*values: str) -> str:
    bits = " | ".join(f"IF({value} IS NULL, {1 << i}L, 0L)" for i, value in enumerate(values))
    return f"IF({' OR '.join(f'{value} IS NULL' for value in values)}, {bits}, 0L)"
