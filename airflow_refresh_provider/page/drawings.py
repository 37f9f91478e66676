"""Drawings as rectangles and points, which the templates write as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome
from airflow_refresh_provider.core.run.run_detail import ChunkDetail
from airflow_refresh_provider.views import formats

_BAR_WIDTH, _BAR_GAP, _BARS_HEIGHT, _LEAST_HEIGHT = 9, 3, 64, 3
_CELL, _CELL_GAP, _CELLS_IN_A_LINE, _MOST_CELLS = 10, 2, 60, 1200
_STRIP_WIDTH, _STRIP_HEIGHT, _STRIP_GAP = 720, 12, 3
_SPARK_WIDTH, _SPARK_HEIGHT = 240, 36


@dataclass(frozen=True)
class Box:
    """A rectangle; `kind` is its class, `title` what it says."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str
    link: str | None = None


@dataclass(frozen=True)
class Drawing:
    """Boxes on a ground of this size."""

    width: float
    height: float
    boxes: tuple[Box, ...]


def bars(history: Sequence[HistoryEntry]) -> Drawing:
    """A bar for each ended run, oldest first: as high as it took seconds, coloured by mode and outcome."""
    runs = [entry for entry in reversed(history) if entry.run_id]
    longest = max((entry.elapsed_seconds for entry in runs), default=0.0) or 1.0
    step = _BAR_WIDTH + _BAR_GAP
    boxes = []
    for at, entry in enumerate(runs):
        height = max(_LEAST_HEIGHT, round(_BARS_HEIGHT * entry.elapsed_seconds / longest, 1))
        boxes.append(
            Box(at * step, _BARS_HEIGHT - height, _BAR_WIDTH, height, _kind(entry), _title(entry), entry.run_id)
        )
    return Drawing(max(1, len(runs) * step), _BARS_HEIGHT, tuple(boxes))


def day_bars(values: Mapping[str, float], now: datetime, days: int, shown: Callable[[float], str]) -> Drawing:
    """A bar for each of the last days, oldest first, from values by day as `2024-01-31`; none for a day without one."""
    step, most = _BAR_WIDTH + _BAR_GAP, max(values.values(), default=0.0) or 1.0
    dates = [f"{now - timedelta(days=ago):%Y-%m-%d}" for ago in reversed(range(days + 1))]
    boxes = []
    for at, day in enumerate(dates):
        if value := values.get(day):
            height = max(_LEAST_HEIGHT, round(_BARS_HEIGHT * value / most, 1))
            box = Box(at * step, _BARS_HEIGHT - height, _BAR_WIDTH, height, "full", f"{day}: {shown(value)}")
            boxes.append(box)
    return Drawing(len(dates) * step, _BARS_HEIGHT, tuple(boxes))


def chunk_map(chunks: Sequence[ChunkDetail]) -> Drawing:
    """A cell for each chunk, a line or more for each unit; of very many chunks a strip for each unit."""
    units = [list(chunks_of) for _, chunks_of in groupby(sorted(chunks, key=lambda c: (c.unit, c.number)), _unit)]
    return _strips(units) if len(chunks) > _MOST_CELLS else _cells(units)


def spark(values: Sequence[float]) -> str:
    """The points of a line through values, oldest first; empty for fewer than two."""
    if len(values) < 2:
        return ""
    highest = max(values) or 1.0
    step = _SPARK_WIDTH / (len(values) - 1)
    points = (
        f"{at * step:.1f},{_SPARK_HEIGHT - 1 - (_SPARK_HEIGHT - 2) * value / highest:.1f}"
        for at, value in enumerate(values)
    )
    return " ".join(points)


def _cells(units: list[list[ChunkDetail]]) -> Drawing:
    step, boxes, line, widest = _CELL + _CELL_GAP, [], 0, 1
    for unit in units:
        for at, chunk in enumerate(unit):
            if at and at % _CELLS_IN_A_LINE == 0:
                line += 1
            column = at % _CELLS_IN_A_LINE
            widest = max(widest, column + 1)
            boxes.append(Box(column * step, line * step, _CELL, _CELL, chunk.state.value, _chunk_title(chunk)))
        line += 1
    return Drawing(widest * step, max(1, line) * step, tuple(boxes))


def _strips(units: list[list[ChunkDetail]]) -> Drawing:
    step, boxes = _STRIP_HEIGHT + _STRIP_GAP, []
    for line, unit in enumerate(units):
        scale, at = _STRIP_WIDTH / len(unit), 0
        for state, same in groupby(unit, key=lambda chunk: chunk.state):
            count = len(list(same))
            title = f"unit {unit[0].unit}: {count:,} chunks {state.value}"
            boxes.append(Box(at * scale, line * step, count * scale, _STRIP_HEIGHT, state.value, title))
            at += count
    return Drawing(_STRIP_WIDTH, len(units) * step, tuple(boxes))


def _unit(chunk: ChunkDetail) -> int:
    return chunk.unit


def _chunk_title(chunk: ChunkDetail) -> str:
    rows = f", {chunk.rows:,} rows" if chunk.rows is not None else ""
    way = f" by {chunk.way}" if chunk.way else ""
    return f"unit {chunk.unit}, chunk {chunk.number}: {chunk.state.value}{way}{rows}"


def _kind(entry: HistoryEntry) -> str:
    if entry.outcome is not Outcome.SUCCEEDED:
        return "failed"
    return entry.result.mode if entry.result and entry.result.mode == "incremental" else "full"


def _title(entry: HistoryEntry) -> str:
    mode = f", {entry.result.mode}" if entry.result and entry.result.mode else ""
    rows = f", {formats.signed(entry.result.rows)}" if entry.result else ""
    return f"{formats.time(entry.at)}: {entry.outcome.value} in {formats.duration(entry.elapsed_seconds)}{mode}{rows}"
