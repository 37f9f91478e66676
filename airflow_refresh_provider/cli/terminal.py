"""What is drawn with rich: tables of results, and progress bars. Imported only when something is drawn."""

from __future__ import annotations

from typing import TextIO

from rich.box import SIMPLE_HEAD
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
from rich.table import Table
from rich.text import Text

from airflow_refresh_provider.views.result_table import Cell, ResultTable

_UNLIMITED = 100_000


def drawn(table: ResultTable, to: TextIO) -> str:
    """The table as text: fitted to a terminal, never cut for anything else."""
    terminal = to.isatty()
    console = Console(file=to, width=None if terminal else _UNLIMITED, highlight=False, soft_wrap=not terminal)
    with console.capture() as captured:
        if table.rows:
            console.print(_rich_table(table, boxed=terminal))
        for line in table.notes:
            console.print(Text(line))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def progress_bars(to: TextIO) -> Progress:
    """Bars with stage, chunks, rows, rows per second, elapsed and remaining time."""
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
    """Chunks done and their total, or what else the parts of a stage are."""

    def render(self, task: Task) -> Text:
        total = task.fields["of"]
        return Text("" if total is None else f"{task.fields['chunks']}/{total} {task.fields['part']}s")


class _Rows(ProgressColumn):
    """Rows done, their total and rows per second; empty for a bar that counts chunks."""

    def render(self, task: Task) -> Text:
        if not task.fields["rows"]:
            return Text("")
        if task.total is None:
            return Text(f"{task.fields['rows']:,} rows")
        speed = task.total / task.finished_time if task.finished_time else task.speed
        rate = "" if speed is None else f", {speed:,.0f} rows/s"
        return Text(f"{task.completed:,.0f}/{task.total:,.0f} rows{rate}")


def _rich_table(table: ResultTable, *, boxed: bool) -> Table:
    named = any(table.columns)
    drawn = Table(box=SIMPLE_HEAD if boxed and named else None, show_header=named, pad_edge=False, padding=(0, 2, 0, 0))
    for position, column in enumerate(table.columns):
        numeric = all(isinstance(row[position], int) for row in table.rows)
        drawn.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(_cell(value)) for value in row))
    return drawn


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else value
