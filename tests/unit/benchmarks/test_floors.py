"""The floors of the bench: which figures keep them, and which sections are judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.floors import FLOORS, Floor, Standing, standings, table
from tests.architecture.source import ROOT

SECTIONS = {floor.at[0] for floor in FLOORS}


def figures(of: dict[Floor, Any]) -> dict[str, Any]:
    """Raw figures that have these."""
    raw: dict[str, Any] = {}
    for floor, figure in of.items():
        place = raw
        for name in floor.at[:-1]:
            place = place.setdefault(name, {})
        place[floor.at[-1]] = figure
    return raw


def test_a_figure_may_be_as_large_as_its_floor_and_no_larger() -> None:
    at_the_floor = standings(figures({floor: floor.most for floor in FLOORS}), SECTIONS)
    above = standings(figures({floor: floor.most * 1.001 for floor in FLOORS}), SECTIONS)
    assert [s.floor for s in at_the_floor] == [s.floor for s in above] == list(FLOORS)
    assert all(s.kept for s in at_the_floor)
    assert not any(s.kept for s in above)


def test_of_several_figures_the_median_counts() -> None:
    raw = figures({floor: [floor.most / 2, floor.most, floor.most * 9] for floor in FLOORS})
    assert [s.figure for s in standings(raw, SECTIONS)] == [floor.most for floor in FLOORS]


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_only_what_was_measured_is_judged(section: str) -> None:
    raw = figures({floor: floor.most for floor in FLOORS if floor.at[0] == section})
    assert {s.floor.at[0] for s in standings(raw, [section])} == {section}


def test_the_table_says_of_each_whether_it_is_kept() -> None:
    kept, missed = Standing(Floor("a", ("x",), 0.5), 0.25), Standing(Floor("b", ("y",), 400, "MB"), 512.3)
    _, first, second = table([kept, missed]).splitlines()
    assert first.split() == ["a", "0.25", "0.5", "kept"]
    assert second.split() == ["b", "512", "MB", "400", "MB", "MISSED"]


def test_every_floor_has_its_figure_among_those_that_the_bench_keeps() -> None:
    raw = json.loads((ROOT / "docs" / "benchmarks.json").read_text("utf-8"))
    measured = SECTIONS & raw.keys()
    assert len(standings(raw, measured)) == sum(floor.at[0] in measured for floor in FLOORS)
    assert {"first_load", "changed", "incremental", "unchanged", "resumed", "control"} <= measured
