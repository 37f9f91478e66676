"""Control tables that trouble meets: the real ones, but for what happens around one of their acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import DeltaError

from airflow_refresh_provider.delta.control.compaction import Act, Compaction
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row
from airflow_refresh_provider.errors import Failed

Happening = Callable[[], None]


@dataclass(frozen=True)
class Troubled(ControlTable):
    """Around the next append, and no later one, happens what is left to happen."""

    before: list[Happening] = field(default_factory=list)
    after: list[Happening] = field(default_factory=list)

    def append(self, view: DeltaTable, rows: list[Row], transaction: Transaction | None = None) -> None:
        """Append, unless what happens before it raises."""
        _happen(self.before)
        super().append(view, rows, transaction)
        _happen(self.after)


class Full(Compaction):
    """There is room for the rows, but not for merging files. `tried` has an entry for each time it was."""

    tried: ClassVar[list[str]]
    ends: ClassVar[BaseException] = Failed("disk_full", "no room", left="", next="")

    def do(self, acts: Sequence[Act]) -> None:
        """Fail as on a disk that is full."""
        self.tried.append(self._table.name)
        raise self.ends


def lose_the_answer() -> None:
    """The connection breaks."""
    raise DeltaError("connection reset by peer\nat some depth")


def _happen(what: list[Happening]) -> None:
    while what:
        what.pop(0)()
