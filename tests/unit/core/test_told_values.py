"""Samples of differences can be printed as JSON, whatever the rows hold."""

import json
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from airflow_refresh_provider.core.results import DifferenceSample


def test_rows_of_any_values_are_told_as_json() -> None:
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
