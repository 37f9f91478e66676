"""What refreshes cost: the ended runs of the history, added up by definition, by tag or by day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows
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


class Sums(Stored):
    """What runs have cost by definition and by day in UTC, in no order: each run is in one of either."""

    by_definition: tuple[Cost, ...] = ()
    by_day: tuple[Cost, ...] = ()

    def __add__(self, other: Sums) -> Sums:
        if not (self.by_definition and other.by_definition):
            return self if self.by_definition else other
        return Sums(
            by_definition=_by_name((*self.by_definition, *other.by_definition)),
            by_day=_by_name((*self.by_day, *other.by_day)),
        )


class CostsReport(Stored):
    """What runs that ended in the last days have cost: in all, and by day in UTC, definition and tag."""

    at: datetime
    days: int
    in_all: Cost | None
    by_day: tuple[Cost, ...]
    by_definition: tuple[Cost, ...]
    by_tag: tuple[Cost, ...]


def costs(sums: Sums, by: CostsBy, tags: Mapping[str, Sequence[str]]) -> list[Cost]:
    """The costs of runs, the most expensive first; of days the newest first.

    `tags`: definition -> its tags. A run of a definition with several counts for each.
    """
    if by is CostsBy.DAY:
        return sorted(sums.by_day, key=lambda cost: cost.of, reverse=True)
    found = sums.by_definition
    if by is CostsBy.TAG:
        found = _merged((tag, cost) for cost in found for tag in tags.get(cost.of) or (UNTAGGED,))
    return sorted(found, key=lambda cost: (-cost.worked_seconds, cost.of))


def report(sums: Sums, tags: Mapping[str, Sequence[str]], now: datetime, days: int) -> CostsReport:
    """All views of the runs that ended in the last days."""
    return CostsReport(
        at=now,
        days=days,
        in_all=_together(ALL, sums.by_day) if sums.by_day else None,
        by_day=tuple(costs(sums, CostsBy.DAY, tags)),
        by_definition=tuple(costs(sums, CostsBy.DEFINITION, tags)),
        by_tag=tuple(costs(sums, CostsBy.TAG, tags)),
    )


def sums_of(entries: Iterable[HistoryEntry]) -> Sums:
    """The costs of these runs, each of which is there once."""
    found = [(entry, _cost_of(entry)) for entry in entries]
    return Sums(
        by_definition=_by_name(cost for _, cost in found),
        by_day=_merged((f"{entry.at:%Y-%m-%d}", cost) for entry, cost in found),
    )


def _cost_of(entry: HistoryEntry) -> Cost:
    """What one run has cost."""
    done = entry.result if entry.outcome is Outcome.SUCCEEDED else None
    worked = entry.spent.worked_seconds if entry.spent else entry.elapsed_seconds
    return Cost(
        of=entry.name,
        runs=1,
        published=int(done is not None),
        full=int(done is not None and done.mode == Mode.FULL.value),
        fell_back=int(done is not None and done.fell_back),
        rows=done.rows.model_copy(update={"unchanged": 0}) if done else Rows(),
        worked_seconds=worked,
        longest_seconds=worked,
        spark_seconds=entry.spent.spark_seconds if entry.spent else None,
        bytes_to_read=entry.bytes_to_read,
        bytes_written=entry.spent.bytes_written if entry.spent else None,
        sized=int(entry.bytes_to_read is not None),
    )


def _by_name(found: Iterable[Cost]) -> tuple[Cost, ...]:
    """The costs added up that are of the same."""
    return _merged((cost.of, cost) for cost in found)


def _merged(found: Iterable[tuple[str, Cost]]) -> tuple[Cost, ...]:
    """The costs of each name, added up."""
    groups: dict[str, list[Cost]] = {}
    for of, cost in found:
        groups.setdefault(of, []).append(cost)
    return tuple(_together(of, group) for of, group in groups.items())


def _together(of: str, parts: Sequence[Cost]) -> Cost:
    """The costs of a name: those of one part are its costs as they are."""
    if len(parts) > 1:
        return _added_up(of, parts)
    return parts[0] if parts[0].of == of else parts[0].model_copy(update={"of": of})


def _added_up(of: str, parts: Sequence[Cost]) -> Cost:
    spark = [part.spark_seconds for part in parts if part.spark_seconds is not None]
    to_read = [part.bytes_to_read for part in parts if part.bytes_to_read is not None]
    written = [part.bytes_written for part in parts if part.bytes_written is not None]
    return Cost(
        of=of,
        runs=sum(part.runs for part in parts),
        published=sum(part.published for part in parts),
        full=sum(part.full for part in parts),
        fell_back=sum(part.fell_back for part in parts),
        rows=_rows(parts),
        worked_seconds=round(sum(part.worked_seconds for part in parts), 3),
        longest_seconds=max(part.longest_seconds for part in parts),
        spark_seconds=round(sum(spark), 3) if spark else None,
        bytes_to_read=sum(to_read) if to_read else None,
        bytes_written=sum(written) if written else None,
        sized=sum(part.sized for part in parts),
    )


def _rows(parts: Sequence[Cost]) -> Rows:
    return Rows(
        inserted=sum(part.rows.inserted for part in parts),
        updated=sum(part.rows.updated for part in parts),
        deleted=sum(part.rows.deleted for part in parts),
    )
