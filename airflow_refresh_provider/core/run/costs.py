"""What refreshes cost: the ended runs of the history, added up by definition, by tag or by day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows, RunResult
from airflow_refresh_provider.core.text.stored import Stored

UNTAGGED, ALL = "(no tag)", "all"


class CostsBy(StrEnum):
    """What runs are added up by."""

    DEFINITION = "definition"
    TAG = "tag"
    DAY = "day"


class Cost(Stored):
    """What the runs of a definition, of a tag or of a day in UTC have cost; `of` says which.

    `published` of the `runs` came to their end, the others failed or were refused, cancelled or abandoned. `full` read
    everything, `fell_back` of these although their mode follows changes. `rows` are those that were changed.
    `worked_seconds` are those in which processes worked on runs, without the time between attempts and tasks;
    `longest_seconds` those of one run. Of entries of earlier versions, the time from start to end counts instead.
    `spark_seconds`, `bytes_to_read` and `bytes_written` are of the runs of which they are known, null if of none;
    `sized` says of how many `bytes_to_read` is known.
    """

    of: str
    runs: int
    published: int
    full: int
    fell_back: int
    rows: Rows
    worked_seconds: float
    longest_seconds: float
    spark_seconds: float | None = None
    bytes_to_read: int | None = None
    bytes_written: int | None = None
    sized: int = 0


class CostsReport(Stored):
    """What runs that ended in the last days have cost: in all, and by day in UTC, definition and tag."""

    at: datetime
    days: int
    in_all: Cost | None
    by_day: tuple[Cost, ...]
    by_definition: tuple[Cost, ...]
    by_tag: tuple[Cost, ...]


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
    return sorted(found, key=lambda cost: (-cost.worked_seconds, cost.of))


_Grouping = Callable[[HistoryEntry, Mapping[str, Sequence[str]]], Sequence[str]]

_OF: dict[CostsBy, _Grouping] = {
    CostsBy.DEFINITION: lambda entry, _tags: (entry.name,),
    CostsBy.TAG: lambda entry, tags: tags.get(entry.name) or (UNTAGGED,),
    CostsBy.DAY: lambda entry, _tags: (f"{entry.at:%Y-%m-%d}",),
}


def report(entries: Sequence[HistoryEntry], tags: Mapping[str, Sequence[str]], now: datetime, days: int) -> CostsReport:
    """All views of the runs that ended in the last days."""
    since = now - timedelta(days=days)
    counted = [entry for entry in entries if entry.at >= since]
    return CostsReport(
        at=now,
        days=days,
        in_all=_added_up(ALL, counted) if counted else None,
        by_day=tuple(costs(counted, CostsBy.DAY, tags, since)),
        by_definition=tuple(costs(counted, CostsBy.DEFINITION, tags, since)),
        by_tag=tuple(costs(counted, CostsBy.TAG, tags, since)),
    )


def _added_up(name: str, entries: Sequence[HistoryEntry]) -> Cost:
    done = [entry.result for entry in entries if entry.outcome is Outcome.SUCCEEDED and entry.result]
    worked = [entry.spent.worked_seconds if entry.spent else entry.elapsed_seconds for entry in entries]
    spent = [entry.spent for entry in entries if entry.spent]
    sizes = [entry.bytes_to_read for entry in entries if entry.bytes_to_read is not None]
    return Cost(
        of=name,
        runs=len(entries),
        published=len(done),
        full=sum(result.mode == Mode.FULL.value for result in done),
        fell_back=sum(result.fell_back for result in done),
        rows=_rows(done),
        worked_seconds=round(sum(worked), 3),
        longest_seconds=max(worked),
        spark_seconds=round(sum(one.spark_seconds for one in spent), 3) if spent else None,
        bytes_to_read=sum(sizes) if sizes else None,
        bytes_written=sum(one.bytes_written for one in spent) if spent else None,
        sized=len(sizes),
    )


def _rows(done: Sequence[RunResult]) -> Rows:
    return Rows(
        inserted=sum(result.rows.inserted for result in done),
        updated=sum(result.rows.updated for result in done),
        deleted=sum(result.rows.deleted for result in done),
    )
