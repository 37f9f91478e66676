"""How long the last refreshes of a definition took, either way. Part of the stored record.

Only what can be compared is kept: the parts of a load that differ between both ways, and the rest of a run, which is
the same for both.
"""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored

KEPT = 5
"""How many of the newest refreshes of a kind are kept."""


class ChangesSeconds(Stored):
    """A load that followed changes. `finding` and `following` are as in `LoadSeconds`.

    `change_bytes` were to be read for the changes. `share` of the target's rows was touched; null where rows were not
    found by touched values.
    """

    finding: float
    following: float
    change_bytes: int | None = None
    share: float | None = None


class WholeSeconds(Stored):
    """Computing everything of inputs of so many bytes, null where a log does not record them."""

    seconds: float
    input_bytes: int | None = None


class Measured(Stored):
    """The newest refreshes first. A verification has measured both ways.

    `rest` is what runs took beside their load. `first`: the whole of the first load, which compares nothing.
    `turned`: the bytes of changes of those that have computed everything after they had found the touched values, and
    that none has come after that followed its changes. `since_tried`: full refreshes since one that looked for changes.
    """

    incremental: tuple[ChangesSeconds, ...] = ()
    full: tuple[WholeSeconds, ...] = ()
    rest: tuple[float, ...] = ()
    first: WholeSeconds | None = None
    turned: tuple[int, ...] = ()
    since_tried: int = 0

    def followed(self, found: ChangesSeconds) -> Measured:
        """With a load that followed changes."""
        kept = (found, *self.incremental)[:KEPT]
        return self.model_copy(update={"incremental": kept, "turned": (), "since_tried": 0})

    def turned_at(self, change_bytes: int) -> Measured:
        """With a load that computed everything once it knew what the changes touch."""
        return self.model_copy(update={"turned": (change_bytes, *self.turned)[:KEPT], "since_tried": 0})

    def computed(self, found: WholeSeconds) -> Measured:
        """With a load that computed everything."""
        return self.model_copy(update={"full": (found, *self.full)[:KEPT]})
