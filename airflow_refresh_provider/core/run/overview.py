"""What the page shows of all definitions at once, and of one in detail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.query_change import QueryChange
from airflow_refresh_provider.core.run.reports import DefinitionStatus, Freshness
from airflow_refresh_provider.core.run.results import ErrorReport, HistoryEntry
from airflow_refresh_provider.core.text.stored import Stored

_URGENT_FIRST = (
    Health.LATE,
    Health.FAILED,
    Health.SUSPENDED,
    Health.INTERRUPTED,
    Health.CANCELLED,
    Health.REPLACED,
    Health.OVERWRITTEN,
    Health.UNKNOWN,
    Health.RUNNING,
    Health.WAITING,
    Health.BUDGET_SPENT,
    Health.DROPPING,
    Health.PAUSED,
    Health.NOT_PUBLISHED,
    Health.REDEFINED,
    Health.BEHIND,
    None,
    Health.FRESH,
)
"""What needs a person comes first; None is what was not looked at yet."""


class Filter(Stored):
    """Which definitions are shown: those with this tag, this owner, this health, and this text in name or target."""

    tag: str | None = None
    owner: str | None = None
    health: Health | None = None
    search: str | None = None

    def has(self, one: DefinitionStatus) -> bool:
        """Whether a definition is shown."""
        definition, text = one.definition, (self.search or "").lower()
        return (
            (not self.tag or self.tag in definition.tags)
            and (not self.owner or self.owner == definition.owner)
            and (not self.health or self.health is one.health)
            and (text in one.name.lower() or text in one.target.lower())
        )


class Overview(Stored):
    """Definitions, those that need a person first. `counts` are of all definitions by health, `total` is how many there
    are, `matching` how many the filter leaves, of which `definitions` are some.

    A health that is not counted is that of definitions whose inputs and targets were not looked at yet. `tags` and
    `owners` are those to filter by. `error`: why the control tables could not be read.
    """

    at: datetime
    control_root: str
    total: int = 0
    matching: int = 0
    counts: dict[Health, int] = {}
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    definitions: tuple[DefinitionStatus, ...] = ()
    error: ErrorReport | None = None


class Neighbour(Stored):
    """A definition upstream or downstream of another, by so many steps; `reads` are those that make its inputs."""

    name: str
    steps: int
    health: Health | None = None
    lag_seconds: float | None = None
    reads: tuple[str, ...] = ()


class Source(Stored):
    """A place that no definition makes, as it is written, and the definitions that read it, by the name of an input."""

    name: str
    path: str
    readers: tuple[str, ...]


class DefinitionDetail(Stored):
    """One definition: its status, each of its inputs, what the next refresh does, its ended runs, newest first, the
    definitions upstream and downstream of it, those that make its inputs, what it and those upstream read besides, and
    the last changes of its query, newest first.
    """

    status: DefinitionStatus
    freshness: Freshness
    explanation: Explanation
    history: tuple[HistoryEntry, ...]
    upstream: tuple[Neighbour, ...] = ()
    downstream: tuple[Neighbour, ...] = ()
    reads: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    query_changes: tuple[QueryChange, ...] = ()


def urgent_first(statuses: Sequence[DefinitionStatus]) -> list[DefinitionStatus]:
    """The statuses in the order in which they are shown."""
    rank = {health: at for at, health in enumerate(_URGENT_FIRST)}
    return sorted(statuses, key=lambda one: (rank[one.health], one.name))


def counts_of(statuses: Sequence[DefinitionStatus]) -> dict[Health, int]:
    """How many definitions have each health, in the order in which they are shown."""
    found = [one.health for one in statuses]
    return {health: found.count(health) for health in _URGENT_FIRST if health is not None and health in found}
