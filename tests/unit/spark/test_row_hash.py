"""What a value contributes to the hash of its row, as text. Whether it tells values apart is shown on real Spark."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.spark.row_hash import inputs, split


@pytest.mark.parametrize("type_name", ["int", "decimal(10,2)", "string", "string collate UTF8_LCASE", "timestamp_ntz"])
def test_a_plain_value_is_hashed_as_it_is_beside_its_mark(type_name: str) -> None:
    assert inputs("v", type_name) == ("v", "v IS NULL")


def test_a_struct_is_taken_apart_and_marked_itself() -> None:
    assert inputs("t.`s`", "struct<`a b`:int,c:struct<`d`:date>>") == (
        "t.`s`.`a b`",
        "t.`s`.`a b` IS NULL",
        "t.`s`.`c`.`d`",
        "t.`s`.`c`.`d` IS NULL",
        "t.`s`.`c` IS NULL",
        "t.`s` IS NULL",
    )


def test_elements_of_arrays_within_arrays_have_names_of_their_own() -> None:
    assert inputs("v", "array<array<int>>") == (
        "transform(v, e0 -> xxhash64(transform(e0, e1 -> xxhash64(e1, e1 IS NULL)), e0 IS NULL))",
        "v IS NULL",
    )


def test_the_entries_of_a_map_are_ordered_by_their_hashes() -> None:
    assert inputs("v", "map<string,decimal(5,2)>") == (
        "array_sort(transform(map_entries(v), e0 -> xxhash64(e0.key, e0.key IS NULL, e0.value, e0.value IS NULL)))",
        "v IS NULL",
    )


def test_a_variant_is_hashed_by_its_text_and_its_type() -> None:
    assert inputs("v", "variant") == ("to_json(v)", "schema_of_variant(v)", "v IS NULL")


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
