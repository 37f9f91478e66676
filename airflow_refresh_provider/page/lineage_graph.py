"""The tables around a definition as boxes and lines: what is read stands to the left of what reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from statistics import fmean

from airflow_refresh_provider.core.run.overview import DefinitionDetail
from airflow_refresh_provider.page.tables_around import Table, tables_around

MOST_NODES = 40
_WIDTH, _HEIGHT, _COLUMN_GAP, _ROW_GAP, _MARGIN = 176, 44, 56, 14, 4
_LETTERS = 20


@dataclass(frozen=True)
class Node:
    """A box: `label` and `says` are its lines, `where` says what these do not, `title` is all in words, `kind` its
    class, `name` what it links to.
    """

    x: float
    y: float
    label: str
    says: str
    where: str
    title: str
    kind: str
    name: str | None


@dataclass(frozen=True)
class Graph:
    """Boxes and the paths of the lines between them; `more` boxes are not shown. `centre`: where its own box begins."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    lines: tuple[str, ...]
    more: int
    centre: float
    node_width: float = _WIDTH
    node_height: float = _HEIGHT


def graph(found: DefinitionDetail) -> Graph:
    """At most `MOST_NODES` boxes, the nearest ones, in a column for each distance; the same for the same tables."""
    every = sorted(tables_around(found), key=lambda table: (abs(table.steps), table.key))
    tables = {table.key: table for table in every[:MOST_NODES]}
    columns = _columns(tables)
    rows = _rows(tables, columns)
    left = min(columns.values())
    across = max(columns.values()) - left + 1
    down = max(rows.values()) + 1
    corners = {key: (_MARGIN + (columns[key] - left) * _step_x(), _MARGIN + rows[key] * _step_y()) for key in tables}
    return Graph(
        width=2 * _MARGIN + across * _step_x() - _COLUMN_GAP,
        height=2 * _MARGIN + down * _step_y() - _ROW_GAP,
        nodes=tuple(_node(table, corners[key]) for key, table in sorted(tables.items(), key=lambda kv: corners[kv[0]])),
        lines=tuple(_line(corners[read], corners[key]) for key, read in _edges(tables)),
        more=len(every) - len(tables),
        centre=corners[found.status.name][0],
    )


def _edges(tables: Mapping[str, Table]) -> list[tuple[str, str]]:
    """(reader, what it reads)."""
    return [(key, read) for key, table in tables.items() for read in table.reads if read in tables]


def _columns(tables: Mapping[str, Table]) -> dict[str, int]:
    """The most steps to the definition, so that every line goes to the right."""
    reads: dict[str, set[str]] = {key: set() for key in tables}
    readers: dict[str, set[str]] = {key: set() for key in tables}
    for key, read in _edges(tables):
        if tables[read].steps < 0 and tables[key].steps <= 0:
            readers[read].add(key)
        if tables[key].steps > 0 and tables[read].steps >= 0:
            reads[key].add(read)
    try:
        above, below = _most(readers), _most(reads)
    except CycleError:  # definitions that read each other in a circle can be registered one after the other
        return {key: table.steps for key, table in tables.items()}
    return {key: below[key] if table.steps > 0 else -above[key] for key, table in tables.items()}


def _most(before: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The most steps to each from those that have none before them. Raises CycleError."""
    found: dict[str, int] = {}
    for key in TopologicalSorter(before).static_order():
        found[key] = max((found[one] + 1 for one in before[key]), default=0)
    return found


def _rows(tables: Mapping[str, Table], columns: Mapping[str, int]) -> dict[str, float]:
    """Columns are placed from the definition outwards, each centred, its boxes ordered by those that they lead to."""
    next_to: dict[str, list[str]] = {key: [] for key in tables}
    for key, read in _edges(tables):
        next_to[key].append(read)
        next_to[read].append(key)
    tallest = max(list(columns.values()).count(column) for column in columns.values())
    rows: dict[str, float] = {}
    for column in sorted(set(columns.values()), key=lambda column: (abs(column), column)):
        among = [key for key in tables if columns[key] == column]
        towards = {key: [rows[one] for one in next_to[key] if one in rows] for key in among}
        ordered = sorted(among, key=lambda key: (fmean(towards[key]) if towards[key] else 0.0, key))
        first = (tallest - len(among)) / 2
        rows |= {key: first + at for at, key in enumerate(ordered)}
    return rows


def _node(table: Table, corner: tuple[float, float]) -> Node:
    where, label = _where(table), table.label
    if len(label) > _LETTERS:
        where, label = f"{table.full}, {where}", label[: _LETTERS - 1] + "…"
    return Node(
        *corner, label, table.says, where, f"{table.full}: {table.says}, {_where(table)}", table.kind, table.name
    )


def _where(table: Table) -> str:
    if not table.steps:
        return "this definition"
    count = abs(table.steps)
    steps = "1 step" if count == 1 else f"{count} steps"
    return f"{steps} {'upstream' if table.steps < 0 else 'downstream'}"


def _line(left: tuple[float, float], right: tuple[float, float]) -> str:
    """From the right side of one box to the left side of another."""
    x, y = left[0] + _WIDTH, left[1] + _HEIGHT / 2
    to_x, to_y = right[0], right[1] + _HEIGHT / 2
    bend = _COLUMN_GAP / 2
    return f"M{x:g} {y:g} C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"


def _step_x() -> int:
    return _WIDTH + _COLUMN_GAP


def _step_y() -> int:
    return _HEIGHT + _ROW_GAP
