"""What refreshes cost: the ended runs of the history, added up by definition, by tag or by day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows
from airflow_refresh_provider.core.text.stored import Stored

UNTAGGED = "(no tag)"


class CostsBy(StrEnum):
    """What runs are added up by."""

    DEFINITION = "definition"
    TAG = "tag"
    DAY = "day"


class Cost(Stored):
    """What the runs of a definition, of a tag or of a day in UTC have cost; `of` says which.

    `published` of the `runs` came to their end, the others failed or were refused, cancelled or abandoned. `full` read
    everything, `fell_back` of these although their mode follows changes. `rows` are those that were changed.
    `elapsed_seconds` are from the start of a run to its end, with all attempts and the time between them;
    `longest_seconds` those of the longest run.
    """

    of: str
    runs: int
    published: int
    full: int
    fell_back: int
    rows: Rows
    elapsed_seconds: float
    longest_seconds: float


def costs(
    entries: Iterable[HistoryEntry], by: CostsBy, tags: Mapping[str, Sequence[str]], since: datetime
) -> list[Cost]:
    """The costs of runs that ended since a moment, the most expensive first; of days the newest first.

    `tags`: definition -> its tags. A run of a definition with several counts for each.
    """
    groups: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        if entry.at >= since:
            for name in _OF[by](entry, tags):
                groups.setdefault(name, []).append(entry)
    found = [_added_up(name, group) for name, group in groups.items()]
    if by is CostsBy.DAY:
        return sorted(found, key=lambda cost: cost.of, reverse=True)
    return sorted(found, key=lambda cost: (-cost.elapsed_seconds, cost.of))


_Grouping = Callable[[HistoryEntry, Mapping[str, Sequence[str]]], Sequence[str]]

_OF: dict[CostsBy, _Grouping] = {
    CostsBy.DEFINITION: lambda entry, _tags: (entry.name,),
    CostsBy.TAG: lambda entry, tags: tags.get(entry.name) or (UNTAGGED,),
    CostsBy.DAY: lambda entry, _tags: (f"{entry.at:%Y-%m-%d}",),
}


def _added_up(name: str, entries: Sequence[HistoryEntry]) -> Cost:
    done = [entry.result for entry in entries if entry.outcome is Outcome.SUCCEEDED and entry.result]
    return Cost(
        of=name,
        runs=len(entries),
        published=len(done),
        full=sum(result.mode == Mode.FULL.value for result in done),
        fell_back=sum(result.fell_back for result in done),
        rows=Rows(
            inserted=sum(result.rows.inserted for result in done),
            updated=sum(result.rows.updated for result in done),
            deleted=sum(result.rows.deleted for result in done),
        ),
        elapsed_seconds=round(sum(entry.elapsed_seconds for entry in entries), 3),
        longest_seconds=max(entry.elapsed_seconds for entry in entries),
    )
