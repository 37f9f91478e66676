"""Where an error is in the query that the user wrote.

Spark names a part of a statement. Most statements are generated around the query, so a part counts only if the query
has exactly this text there. Where Spark merges a generated cast with the expression below, it names the cast of a
column; then the column is found in the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_refresh_provider.core.faults.fault import Doing, Fault, SentQuery
from airflow_refresh_provider.core.text.wording import offset_of, place_of

_BLOCK = re.compile(r"== SQL[^(\n]*\(line (\d+), position (\d+)\) ==\n(?P<line>[^\n]*)\n(?P<marks>[ ]*\^+)")
_PARSED = re.compile(r"\(line (\d+), pos (\d+)\)\s*\n\n== SQL ==\n(?P<sql>.*)\n-*\^\^\^", re.DOTALL)
_AT = re.compile(r"; line (\d+) pos (\d+)")
_GENERATED = re.compile(r"^CAST\(`(?P<name>(?:[^`]|``)+)` AS ")


@dataclass(frozen=True)
class Position:
    """A line and a column of the query, counted from 1; the expression or the column of the result that is there."""

    line: int
    column: int
    expression: str = ""
    result_column: str = ""

    def __str__(self) -> str:
        where = f"(line {self.line}, column {self.column})"
        if self.result_column:
            return f"in the column {self.result_column} of the query {where}"
        return f"in `{self.expression}` {where}" if self.expression else f"in the query {where}"


def position(fault: Fault, doing: Doing) -> Position | None:
    """The position in the query as it was written; None when the error is not at a place of it."""
    if doing.query is None:
        return None
    return _of_fragment(fault, doing.query) or _of_block(fault, doing.query) or _of_parser(fault, doing.query)


def _of_fragment(fault: Fault, query: SentQuery) -> Position | None:
    for part in fault.fragments:
        if _cut(query.text, part.start, part.text) == part.text:
            return _written(query, part.start, query.text[part.start : part.start + len(part.text)])
    return None


def _cut(query: str, start: int, text: str) -> str:
    """What Spark cuts out of the query: it counts `start` in characters, and cuts by halves of UTF-16."""
    units, length = query.encode("utf-16-le"), len(text.encode("utf-16-le"))
    return units[2 * start : 2 * start + length].decode("utf-16-le", "replace")


def _of_block(fault: Fault, query: SentQuery) -> Position | None:
    for cause in fault.chain:
        if not (found := _BLOCK.search(cause.message)):
            continue
        marks, line = found["marks"], found["line"]
        text = line[len(marks) - len(marks.lstrip()) : len(marks)]
        start = offset_of(query.text, (int(found[1]), int(found[2])))
        if text and query.text[start:].startswith(text):
            return _written(query, start, text)
        if generated := _GENERATED.match(text):
            return _of_column(query, generated["name"].replace("``", "`"))
    return None


def _of_parser(fault: Fault, query: SentQuery) -> Position | None:
    """A syntax error, which says the whole statement, or an error in analysis, which says no text."""
    message = fault.principal.message
    if found := _PARSED.search(message):
        same = query.text.startswith(found["sql"].split("\n")[0])
        return _written(query, offset_of(query.text, (int(found[1]), int(found[2]) + 1))) if same else None
    if not fault.fragments and (found := _AT.search(message)):
        return _written(query, offset_of(query.text, (int(found[1]), int(found[2]) + 1)))
    return None


def _of_column(query: SentQuery, name: str) -> Position | None:
    # The SQL parser takes a third of a second to import.
    from airflow_refresh_provider.core.query.outputs import start_of_output

    start = start_of_output(query.written or query.text, name)
    if start is None:
        return None
    line, column = place_of(query.written or query.text, start)
    return Position(line, column, result_column=name)


def _written(query: SentQuery, start: int, text: str = "") -> Position:
    """The place as the author of the query finds it: clock functions were replaced by literals."""
    place = place_of(query.text, start)
    if query.written not in (None, query.text) and query.moment is not None:
        from airflow_refresh_provider.core.query.query import written_place

        place = written_place(query.written or "", query.clock_spans, query.moment, place)
    short = text if "\n" not in text and len(text) <= _LONGEST else ""
    return Position(*place, expression=short)


_LONGEST = 80
