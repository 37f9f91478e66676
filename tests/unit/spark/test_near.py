"""Values within a tolerance, as SQL text. What it means is shown on real Spark."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.definition.columns import floating
from airflow_refresh_provider.spark.acts.near import near


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("double", True), ("float", True), ("array<float>", True), ("struct<a:int,`b`:map<string,double>>", True),
        ("int", False), ("decimal(10,2)", False), ("struct<`double`:int>", False), ("struct<`a``float`:int>", False),
    ],
)  # fmt: skip
def test_floating_point_is_found_at_any_depth_and_not_in_names(kind: str, found: bool) -> None:
    assert floating(kind) is found


def test_what_is_no_floating_point_has_to_be_equal() -> None:
    assert near("s.a", "t.a", "array<int>", 0.1) == "(s.a <=> t.a)"


def test_a_number_is_equal_or_close_and_never_null() -> None:
    a, b = "CAST(s.a AS DOUBLE)", "CAST(t.a AS DOUBLE)"
    close = f"sign({a}) = sign({b}) AND abs({a} - {b}) <= 1e-13D * least(abs({a}), abs({b}))"
    assert near("s.a", "t.a", "float", 1e-13) == f"(s.a <=> t.a OR coalesce({close}, false))"


def test_collections_within_collections_have_names_of_their_own() -> None:
    text = near("s.a", "t.a", "array<map<string,array<double>>>", 0.5)
    assert "zip_with(s.a, t.a, (x0, y0) ->" in text
    assert "map_entries(x0), x1 ->" in text
    assert "zip_with(x1.value, try_element_at(y0, x1.key), (x2, y2) ->" in text
