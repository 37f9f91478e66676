"""Watching a refresh while it runs: callbacks for bars, logs and signals. Implementations must not raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

TAKE_OVER = "take over"
"""The stage of a process that takes an unfinished run over."""


@dataclass(frozen=True)
class Committed:
    """A chunk that was just committed to the target: number `number` of `of` of its unit, the rows it changed, and the
    seconds it took.
    """

    run_id: str
    unit: int
    number: int
    of: int
    way: str
    rows: int
    seconds: float


class Watch(Protocol):
    """Called from the threads that do the work."""

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        """A stage starts; totals as far as they are known. `part`: what is counted as `chunks`."""
        ...

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Parts of the current stage are done that commit nothing to a target."""
        ...

    def skip(self, rows: int, chunks: int) -> None:
        """Parts of the current stage were done before it started."""
        ...

    def committed(self, chunk: Committed) -> None:
        """A chunk of the current stage was committed by this process; called once for each."""
        ...

    def note(self, message: str) -> None:
        """A message for people: a take-over, foreign commits found."""
        ...


class Silent:
    """A watch that ignores everything."""

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        """Ignored."""

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Ignored."""

    def skip(self, rows: int, chunks: int) -> None:
        """Ignored."""

    def committed(self, chunk: Committed) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""
