"""Places in a text: characters counted from 0, or line and column, both counted from 1."""

from __future__ import annotations


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
