"""What the demo says, and how it looks."""

from __future__ import annotations

import sys

from rich.console import Console

console = Console(width=None if sys.stdout.isatty() else 110)


def chapter(title: str) -> None:
    """A new part of the story."""
    console.rule(f"[bold]{title}", align="left")


def say(text: str) -> None:
    """A line of it."""
    console.print(text, highlight=False)
