"""How values are shown: times, durations, versions, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from airflow_refresh_provider.core.changes.pins import Digests, IgnoredFiles
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.attempt import Attempt, Attempts
from airflow_refresh_provider.core.run.budget import RunBudget
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.options import to_arguments
from airflow_refresh_provider.core.run.queue import Queue, QueuedOptions
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows, RunResult
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.core.run.steering import Offer


def time(at: datetime | None) -> str | None:
    """A time in UTC, to the second."""
    return None if at is None else at.strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float | None) -> str | None:
    """Hours, minutes and seconds."""
    return None if seconds is None else str(timedelta(seconds=round(seconds)))


def minute(at: datetime | None) -> str | None:
    """A time in UTC, to the minute; for a column."""
    return None if at is None else at.strftime("%m-%d %H:%M")


def size(count: int) -> str:
    """Bytes in the largest unit of which there is at least one."""
    for exponent, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if count >= 1000**exponent:
            return f"{count / 1000**exponent:,.1f} {unit}"
    return f"{count} B"


def known_size(count: int | None) -> str | None:
    """As `size`, None where it is not known."""
    return None if count is None else size(count)


def spent(of: Spent | None) -> str | None:
    """What a run has cost."""
    if of is None:
        return None
    parts = (
        f"{duration(of.worked_seconds)} worked",
        f"{duration(of.spark_seconds)} of it in Spark",
        f"{size(of.bytes_written)} written",
    )
    return ", ".join(parts)


def place(location: str) -> str:
    """The last part of a location; for a column."""
    return location.rstrip("/").rpartition("/")[2]


def signed(rows: Rows) -> str:
    """Rows that changed: `+` inserted, `~` updated, `-` deleted; for a column."""
    return f"+{rows.inserted:,} ~{rows.updated:,} -{rows.deleted:,}"


def done_of(done: int, total: int | None) -> str:
    """How many of how many, if that is known."""
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def change_counts(rows: Rows | ChangeCounts) -> str:
    """Rows by what happens to them."""
    return ", ".join(f"{count:,} {what}" for what, count in rows.model_dump().items())


def version(of: int | str) -> str:
    """A Delta version, or the start of a digest."""
    return str(of)[: len("sha256:") + 12]


def versions(digests: Digests) -> str | None:
    """The version of each input."""
    return ", ".join(f"{name} {version(found)}" for name, found in digests.items()) or None


def ignored(files: Mapping[str, IgnoredFiles]) -> str | None:
    """The files in the folders of inputs that were not read."""
    return "; ".join(f"{name}: {found.count:,}, such as {found.example}" for name, found in files.items()) or None


def notices(found: Sequence[Notice]) -> str | None:
    """What was done otherwise than the definition says."""
    return "; ".join(notice.line for notice in found) or None


_HEALTH_WORDS = {
    Health.WAITING: "between tasks",
    Health.BUDGET_SPENT: "stopped: budget spent",
    Health.NOT_PUBLISHED: "never published",
    Health.REPLACED: "target replaced",
    Health.OVERWRITTEN: "target changed",
    Health.REDEFINED: "definition changed",
}
"""What is shown of a health that is not its own word."""


def health(of: Health) -> str:
    """How a table is."""
    return _HEALTH_WORDS.get(of, of.value)


def steering(name: str, offers: Sequence[Offer], *, held: bool) -> tuple[str, ...]:
    """How a run in progress is stopped, or what can be done with one that no process holds."""
    if held:
        return (_stopping(name),)
    return ("what can be done with its run:", *(f"  `{one.command}`: {one.effect}" for one in offers))


def _stopping(name: str) -> str:
    return (
        f"to stop it: `airflow-refresh pause {name}`, before its next chunk; `airflow-refresh cancel {name}`, at once; "
        "the next run resumes it, unless it is cancelled with --abandon"
    )


def budget(of: RunBudget | None) -> str | None:
    """What a run may spend, or that it is spent."""
    if of is None:
        return None
    if of.spent:
        return budget_spent(of)
    limits = (
        f"until {time(of.until)}" if of.until else None,
        f"{duration(of.seconds)} from {time(of.since)}" if of.seconds else None,
        f"{size(of.bytes)} written" if of.bytes else None,
    )
    return ", ".join(filter(None, limits))


def budget_spent(of: RunBudget | None) -> str | None:
    """Why a run stops, and what becomes of it."""
    return f"spent ({of.spent}); the next run continues" if of else None


def queued_options(of: QueuedOptions) -> str:
    """What a request that waits asks of its run, as on a command line."""
    return " ".join(to_arguments(of.applied_to(Request()))) or "as defined"


def queued(found: Queue) -> str | None:
    """How many requests wait, and since when the next one does."""
    return f"{len(found)} waiting, the next since {time(found[0].at)}, by {found[0].by}" if found else None


def rate(rows_per_second: float) -> str:
    """Rows a second, of a slow run with a decimal."""
    digits = 0 if rows_per_second >= 10 else 1
    return f"{rows_per_second:,.{digits}f} rows/s"


def throttle(rows_per_second: int | None) -> str | None:
    """A limit of rows a second."""
    return None if rows_per_second is None else f"{rows_per_second:,} rows/s"


def waits(units: Mapping[int, datetime]) -> str | None:
    """Until when units wait for the throttle of their run."""
    return ", ".join(f"unit {unit} until {time(until)}" for unit, until in units.items()) or None


def published(result: RunResult | None) -> str | None:
    """The version that a refresh has published."""
    return None if result is None or result.published_version is None else str(result.published_version)


def mode(result: RunResult) -> str | None:
    """How a refresh was done, and why; None where there was none."""
    code = f" [{result.mode_code}]" if result.mode_code else ""
    done = modes(result.mode, result.requested_mode)
    return f"{done}: {result.mode_reason}{code}" if result.mode_reason else done


def modes(done: str | None, requested: str | None) -> str | None:
    """How a run was done, and what was requested where that is another mode."""
    return f"{done}, requested {requested}" if done and requested and done != requested else done


def resumed_by(owners: Attempts) -> str | None:
    """Who has resumed a run, from when on, and what for; None where it was not resumed."""
    return "; ".join(map(_attempt, owners[1:])) or None


def _attempt(one: Attempt) -> str:
    origin = f", for {one.origin.strip()}" if one.origin else ""
    return f"{time(one.at)} {one.by} on {one.host}{origin}"
