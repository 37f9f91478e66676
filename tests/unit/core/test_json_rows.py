"""Samples of differences are JSON, for rows of any values."""

import json
import math
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.run.results import DifferenceSample
from airflow_refresh_provider.core.text.stored import to_json_value


def test_rows_of_any_values_are_json() -> None:
    odd: dict[str, Any] = {
        "binary": b"\xff\x00",
        "unknown": UUID(int=1),
        "nested": [{"v": bytearray(b"\x01")}, ("a", 1)],
        "map": {date(2024, 1, 2): Decimal("1.50")},
        "nothing": None,
    }
    sample = DifferenceSample(op="U", desired=odd, found=None)
    assert json.loads(sample.model_dump_json()) == {
        "op": "U",
        "desired": {
            "binary": "ff00",
            "unknown": "00000000-0000-0000-0000-000000000001",
            "nested": [{"v": "01"}, ["a", 1]],
            "map": {"2024-01-02": "1.50"},
            "nothing": None,
        },
        "found": None,
    }


_ODD = [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (1.5, 1.5), (-0.0, -0.0), (None, None)]


def _through_json(row: dict[str, Any]) -> Any:
    sample = DifferenceSample(op="U", desired=row, found=None)
    return json.loads(sample.model_dump_json())["desired"]


@pytest.mark.parametrize(("value", "shown"), _ODD)
def test_numbers_that_json_does_not_have_are_distinct_texts(value: object, shown: object) -> None:
    nested = {"v": value, "s": {"a": [value, {"m": value}]}, "k": {value: 1}, "b": {b"\x0a": value}}

    assert _through_json(nested) == {
        "v": shown,
        "s": {"a": [shown, {"m": shown}]},
        "k": {str(shown): 1},
        "b": {"0a": shown},
    }


@given(st.recursive(st.floats() | st.binary() | st.none() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_a_json_value_is_serialisable_and_converting_it_again_changes_nothing(value: object) -> None:
    shown = to_json_value(value)

    assert to_json_value(shown) == shown
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert _through_json({"v": value}) == {"v": shown}
