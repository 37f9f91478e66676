"""Watching a refresh while it runs: callbacks for bars, logs and signals. Implementations must not raise."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Called from the threads that do the work."""

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None) -> None:
        """A stage begins; totals as far as they are known."""
        ...

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Chunks of the current stage were committed."""
        ...

    def note(self, message: str) -> None:
        """Something worth a line: a take-over, a way chosen, foreign commits found."""
        ...


class Silent:
    """A watch that says nothing."""

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None) -> None:
        """Ignored."""

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""
