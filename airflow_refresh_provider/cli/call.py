"""What every command function gets: where to work, and whom to tell while working."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.places import Places, current_folder, resolve, user_state

if TYPE_CHECKING:
    from airflow_refresh_provider.ports.watch import Watch
    from airflow_refresh_provider.runner.refreshes import Refreshes

_LOG = "debug.log"


class Composition(Protocol):
    """What places stand for: everything that can be asked of a control root, told to a watch."""

    def __call__(self, places: Places, watch: Watch, /) -> Refreshes: ...


def composed(places: Places, watch: Watch) -> Refreshes:
    """The composition of real stores and engines, which is not imported before a command needs it."""
    from airflow_refresh_provider.compose import refreshes

    return refreshes(places, watch)


@dataclass(frozen=True)
class Call:
    """One command as given, its own options left out. `composition` says what its places stand for."""

    control: str | None
    spark: str | None
    watch: Watch
    composition: Composition = composed

    @property
    def places(self) -> Places:
        """Where to work. Raises Invalid when that was not said."""
        return resolve(os.environ, current_folder, self.control, self.spark)

    @property
    def debug_log(self) -> Path:
        """Where the debug log goes: beside the embedded server's files if there are any. It makes no control root."""
        with suppress(Invalid):
            home = Path(self.places.spark_home)
            if home.is_dir():
                return home / _LOG
        return Path(user_state(os.environ)) / _LOG

    def tell_if_none(self, refreshes: Refreshes, found: Sequence[object]) -> None:
        """Where there are no definitions, people are told where they were looked for: the place may be mistyped."""
        if not found:
            store = refreshes.ports.store
            none = "no definition is registered" if store.exists else "there are no control tables"
            self.watch.note(f"{none} in {store.root}")

    def refreshes(self) -> Refreshes:
        """Everything that can be asked of the control tables; Spark is not touched before it is needed."""
        return self.composition(self.places, self.watch)
