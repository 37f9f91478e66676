"""What a bar says: stage, share, chunks, rows, rows per second, and the time left."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


def progress(to: TextIO) -> Progress:
    """Bars drawn on a terminal."""
    return Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=30),
        _Chunks(),
        _Rows(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(file=to),
    )


class _Chunks(ProgressColumn):
    """Chunks done, of how many."""

    def render(self, task: Task) -> Text:
        total = task.fields["of"]
        return Text("" if total is None else f"{task.fields['chunks']}/{total} chunks")


class _Rows(ProgressColumn):
    """Rows done, of how many, and how fast. A bar that counts chunks says nothing of rows."""

    def render(self, task: Task) -> Text:
        if not task.fields["rows"]:
            return Text("")
        if task.total is None:
            return Text(f"{task.fields['rows']:,} rows")
        speed = task.total / task.finished_time if task.finished_time else task.speed
        rate = "" if speed is None else f", {speed:,.0f} rows/s"
        return Text(f"{task.completed:,.0f}/{task.total:,.0f} rows{rate}")
