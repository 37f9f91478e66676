"""Bars, maps of chunks and lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.core.run.run_detail import ChunkDetail, Part
from airflow_refresh_provider.page.drawings import bars, chunk_map, day_bars, spark


def ended(number: int, seconds: float, outcome: Outcome = Outcome.SUCCEEDED, mode: str = "full") -> HistoryEntry:
    result = RunResult(run_id=f"r{number}", name="a", outcome=outcome, mode=mode, generation=1)
    return HistoryEntry(
        name="a",
        run_id=f"r{number}",
        outcome=outcome,
        at=datetime(2024, 1, number, tzinfo=UTC),
        generation=1,
        elapsed_seconds=seconds,
        result=result if outcome is Outcome.SUCCEEDED else None,
    )


def chunks(unit: int, *states: Part) -> list[ChunkDetail]:
    return [ChunkDetail(unit=unit, number=n, state=state, rows=n) for n, state in enumerate(states, 1)]


def test_bars_are_oldest_first_and_as_high_as_their_runs_took() -> None:
    drawn = bars([ended(3, 10, mode="incremental"), ended(2, 1, Outcome.FAILED), ended(1, 20)])
    assert [(box.kind, box.height) for box in drawn.boxes] == [("full", 64), ("failed", 3.2), ("incremental", 32)]
    assert all(box.y + box.height == drawn.height for box in drawn.boxes)
    assert "2024-01-01" in drawn.boxes[0].title


def test_runs_that_took_no_time_are_seen() -> None:
    assert [box.height for box in bars([ended(1, 0)]).boxes] == [3]
    assert bars([]).boxes == ()


def test_a_map_has_a_cell_for_each_chunk_and_a_line_for_each_unit() -> None:
    drawn = chunk_map([*chunks(1, Part.WAITING), *chunks(0, Part.DONE, Part.RUNNING)])
    assert [(box.x, box.y, box.kind) for box in drawn.boxes] == [(0, 0, "done"), (12, 0, "running"), (0, 12, "waiting")]
    assert drawn.boxes[1].title == "unit 0, chunk 2: running, 2 rows"
    long = chunk_map(chunks(0, *[Part.DONE] * 61))
    assert (long.boxes[60].x, long.boxes[60].y) == (0, 12)


def test_a_map_of_very_many_chunks_is_a_strip_for_each_unit() -> None:
    drawn = chunk_map(chunks(0, *[Part.DONE] * 500, *[Part.RUNNING], *[Part.WAITING] * 999))
    assert [box.kind for box in drawn.boxes] == ["done", "running", "waiting"]
    assert [box.width for box in drawn.boxes] == pytest.approx([240, 0.48, 479.52])
    assert drawn.boxes[2].title == "unit 0: 999 chunks waiting"


def test_a_line_goes_through_its_values() -> None:
    assert spark([]) == spark([1]) == ""
    assert spark([0, 2, 1]) == "0.0,35.0 120.0,1.0 240.0,18.0"
    assert spark([0, 0]) == "0.0,35.0 240.0,35.0"


def test_days_without_a_value_have_no_bar_and_the_last_day_is_at_the_end() -> None:
    now = datetime(2024, 3, 2, 1, tzinfo=UTC)
    drawn = day_bars({"2024-03-02": 10.0, "2024-02-28": 5.0, "2024-02-29": 0.0}, now, 3, lambda value: f"{value} s")
    assert [(box.title, box.height) for box in drawn.boxes] == [("2024-02-28: 5.0 s", 32), ("2024-03-02: 10.0 s", 64)]
    assert drawn.boxes[-1].x + drawn.boxes[-1].width < drawn.width == 4 * 12
    assert all(box.y + box.height == drawn.height for box in drawn.boxes)
    assert day_bars({}, now, 3, str).boxes == ()
