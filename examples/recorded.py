"""The processes that a `make up` has started, in a file of its folder: by id and start time, since ids are reused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

UP = "up"
"""The name of the program itself, among those of its components."""

_CLOCK_STEP = 2.0
"""Start times are relative to the boot time, which changes a little when the clock is set."""


@dataclass(frozen=True)
class Recorded:
    """A process that was started: `started` in seconds since the epoch."""

    name: str
    pid: int
    started: float

    @classmethod
    def of(cls, name: str, pid: int) -> Recorded:
        """The record of a process that exists. Raises psutil.NoSuchProcess."""
        return cls(name, pid, psutil.Process(pid).create_time())

    def process(self) -> psutil.Process | None:
        """The process, None when it has ended: another one may have its id now."""
        try:
            found = psutil.Process(self.pid)
            same = abs(found.create_time() - self.started) < _CLOCK_STEP
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def save(folder: Path, processes: Iterable[Recorded]) -> None:
    """Record these processes and no others; readers see the old record or the new one, never a part."""
    new = _file(folder).with_suffix(".new")
    new.write_text(json.dumps([asdict(one) for one in processes]), encoding="utf-8")
    new.replace(_file(folder))


def load(folder: Path) -> list[Recorded]:
    """The recorded processes; none when there is no valid record."""
    try:
        return [Recorded(**one) for one in json.loads(_file(folder).read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def forget(folder: Path) -> None:
    """Remove the record."""
    _file(folder).unlink(missing_ok=True)


def _file(folder: Path) -> Path:
    return folder / "processes.json"
