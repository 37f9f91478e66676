"""Drawing sheets as text: fitted to a terminal, or plain and never cut when another program reads."""

from __future__ import annotations

from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airflow_refresh_provider.views.sheets import Sheet

_NEVER_CUT = 100_000


def draw(sheet: Sheet, to: TextIO) -> str:
    """The sheet as text for a stream."""
    terminal = to.isatty()
    console = Console(file=to, width=None if terminal else _NEVER_CUT, highlight=False, soft_wrap=not terminal)
    with console.capture() as captured:
        if sheet.rows:
            console.print(_table(sheet, boxed=terminal))
        for line in sheet.notes:
            console.print(Text(line))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _table(sheet: Sheet, *, boxed: bool) -> Table:
    named = any(sheet.columns)
    table = Table(box=SIMPLE_HEAD if boxed and named else None, show_header=named, pad_edge=False, padding=(0, 2, 0, 0))
    for position, column in enumerate(sheet.columns):
        numeric = all(isinstance(row[position], int) for row in sheet.rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _cell(value: str | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else value
