"""Numbers of things as people are told them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`: the noun is one of those that take an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def sizes(rows: int | None, chunks: int | None) -> list[str]:
    """How much a stage has to do, as far as that is known."""
    return [counted(number, noun) for number, noun in ((rows, "row"), (chunks, "chunk")) if number]
