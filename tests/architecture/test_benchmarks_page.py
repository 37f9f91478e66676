"""The page of benchmarks says what the raw figures beside it say."""

from __future__ import annotations

import json

from benchmarks.report import page
from tests.architecture.source import ROOT

_PAGE = ROOT / "docs" / "benchmarks.md"


def test_the_page_is_that_of_the_raw_figures() -> None:
    assert _PAGE.read_text("utf-8") == page(json.loads(_PAGE.with_suffix(".json").read_text("utf-8")))
