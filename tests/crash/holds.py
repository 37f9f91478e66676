"""Points at which a refresh can be stopped, in its own process or in Spark's, and the holds that stop it there.

Both kinds of process look into one folder for what a test has asked for; see `java/Holds.java` for the files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LONGEST_SECONDS = 300.0
LOOK_EVERY = 0.02


@dataclass(frozen=True)
class Point:
    """What is about to happen or has just happened: the kind, parts of where, and of what is being done."""

    kind: str
    place: str = ""
    content: str = ""

    @property
    def in_spark(self) -> bool:
        """Whether Spark comes there; the kinds of a client are calls of ports, with a dot."""
        return "." not in self.kind

    def names(self, here: Point) -> bool:
        """Whether `here` is what this point asks for."""
        return self.kind == here.kind and self.place in here.place and self.content in here.content


class Hold:
    """A point at which the first process is stopped until it is released."""

    def __init__(self, folder: Path, name: str) -> None:
        self._rule = folder / f"{name}.rule"
        self._held = folder / f"{name}.held"
        self._over = folder / f"{name}.over"

    def arm(self, point: Point) -> None:
        """Stop the next process that reaches the point."""
        unfinished = self._rule.with_suffix(".new")
        unfinished.write_text(f"point={point.kind}\nplace={point.place}\ncontent={point.content}\n")
        unfinished.replace(self._rule)

    def stop_here(self) -> None:
        """Wait until released, unless another process was stopped before."""
        with suppress(FileExistsError):
            self._held.touch(exist_ok=False)
            _until(lambda: not self._rule.exists(), self._rule)

    def wait_until_held(self) -> None:
        """Until a process has reached the point."""
        _until(self._held.exists, self._held)

    def release(self) -> None:
        """Let the stopped process continue; no other is stopped any more."""
        self._rule.unlink(missing_ok=True)

    def wait_until_over(self) -> None:
        """Until the thread of Spark that was stopped has ended."""
        _until(self._over.exists, self._over)


def armed(folder: Path) -> Iterator[tuple[Hold, Point]]:
    """All holds of a folder that stop a process, or will."""
    for rule in sorted(folder.glob("*.rule")):
        with suppress(FileNotFoundError):
            kind, place, content = (line.partition("=")[2] for line in rule.read_text().splitlines())
            yield Hold(folder, rule.stem), Point(kind, place, content)


def clear(folder: Path) -> None:
    """Release and delete all holds."""
    for file in folder.iterdir():
        file.unlink(missing_ok=True)


def _until(come: Callable[[], bool], what: Path) -> None:
    end = time.monotonic() + LONGEST_SECONDS
    while not come():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of {what.name} within {LONGEST_SECONDS:.0f} seconds")
        time.sleep(LOOK_EVERY)
