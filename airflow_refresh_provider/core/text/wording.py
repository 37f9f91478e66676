"""Pieces of messages: counted nouns, suggestions for misspelt names, positions in a text."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def counted(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`, `2 refreshes`: the noun is one of those that take an s, or es."""
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def sizes(rows: int | None, chunks: int | None, part: str = "chunk") -> list[str]:
    """How much a stage has to do, as far as that is known."""
    return [counted(number, noun) for number, noun in ((rows, "row"), (chunks, part)) if number]


def suggestion(name: str, known: Iterable[str]) -> str:
    """` Did you mean x?` when a known name is close to what was written, else nothing."""
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]}?" if close else ""


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def offset_of(text: str, place: tuple[int, int]) -> int:
    """The character at a line and column; one of the last line where the text has not so many."""
    line, column = place
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1 or start
    return start + column - 1


def listed(names: Iterable[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
