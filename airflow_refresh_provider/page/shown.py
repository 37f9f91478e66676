"""The words that templates show."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from airflow_refresh_provider.core.run.costs import Cost
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.page.inputs_shown import kept, reads, zipped
from airflow_refresh_provider.page.query_diff import diff
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.definition_tables import health_text, why
from airflow_refresh_provider.views.explanation_lines import how_followed
from airflow_refresh_provider.views.explanation_tables import follows_text, next_text
from airflow_refresh_provider.views.forecast_lines import by_dag, end_text, late_text, next_refresh

_URGENT = frozenset(
    {Health.LATE, Health.FAILED, Health.SUSPENDED, Health.REPLACED, Health.OVERWRITTEN, Health.INTERRUPTED}
)
_CALM = frozenset({Health.FRESH})
_BUSY = frozenset({Health.RUNNING, Health.WAITING})


_BUTTONS = {
    Act.RECOVER: "Recover the run",
    Act.TAKE_OVER: "Take over the run",
    Act.CANCEL: "Cancel the run",
    Act.ABANDON: "Abandon the run",
}
_WAYS = {Act.TAKE_OVER: "take-over", Act.ABANDON: "cancel?abandon=true"}


def tone(health: Health | None) -> str:
    """The class of the colour of a health; the word stands beside it."""
    if health in _URGENT:
        return "urgent"
    return "calm" if health in _CALM else "busy" if health in _BUSY else "plain"


def word(value: StrEnum | None) -> str:
    """A health, or another word of a list, as one or two words."""
    return "not looked at yet" if value is None else value.value.replace("_", " ")


def button(act: Act) -> str:
    """What is written on a button."""
    return _BUTTONS[act]


def way_to(act: Act) -> str:
    """The address of the form of something that is done with a run, below that of the run."""
    return _WAYS.get(act, act.value)


def status(one: DefinitionStatus) -> str:
    """How a table is."""
    return "not looked at yet" if one.health is None else health_text(one)


def data_as_of(one: DefinitionStatus) -> str:
    """How old the data are, and how old they may become."""
    fresh = one.freshness
    if fresh is None or fresh.confirmed_at is None:
        return "never" if one.published_version is None else "-"
    limit = f" / {short(fresh.target_lag_seconds)}" if fresh.target_lag_seconds is not None else ""
    ahead = one.forecast
    late = f", late at {formats.minute(ahead.late_at)}" if ahead and ahead.will_be_late else ""
    return f"{formats.minute(fresh.confirmed_at)} ({short(fresh.lag_seconds)}{limit}){late}"


def next_run(one: DefinitionStatus) -> str:
    """When it is refreshed next."""
    if one.due is None:
        return "-"
    if (found := next_refresh(one)) is not None:
        return found
    if one.suspended or one.paused:
        return "after a resume"
    if dag := by_dag(one):
        return f"by DAG {dag}"
    schedule = one.definition.refresh
    return "manual" if schedule.by_hand else "on change" if schedule.on_change else "-"


def last_run(one: DefinitionStatus) -> str:
    """How the last run came out, or how far the present one is."""
    run, last = one.run, one.last_run
    if run and one.health in _BUSY:
        left = f", {short(run.seconds_left)} left" if run.seconds_left is not None else ""
        return f"{formats.done_of(run.chunks_done, run.chunks_total)} chunks{left}"
    if last is None:
        return "-"
    took = f" in {short(last.elapsed_seconds)}" if last.elapsed_seconds is not None else ""
    outcome = "ok" if last.outcome is Outcome.SUCCEEDED else last.outcome.value
    return f"{formats.minute(last.at)} {outcome}{took}"


def changed(one: DefinitionStatus) -> str:
    """The rows that the last run has changed."""
    last = one.last_run
    return formats.signed(last.rows) if last and last.outcome is Outcome.SUCCEEDED else "-"


def mode(one: DefinitionStatus) -> str:
    """How the last run was done, or why it was not."""
    last = one.last_run
    return (last.mode or last.code or "-") if last else "-"


def modes(entry: HistoryEntry) -> str:
    """How an ended run was done, and what was requested."""
    done = entry.result.mode if entry.result else entry.mode
    return formats.modes(done, entry.requested_mode) or "-"


def short(seconds: float | None) -> str:
    """A duration in its largest units."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if whole >= 2 * size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def to_read(cost: Cost) -> str:
    """What there was to read, as far as that is known of the runs."""
    if cost.bytes_to_read is None:
        return "-"
    some = "" if cost.sized == cost.runs else f" by {cost.sized} of them"
    return f"{formats.size(cost.bytes_to_read)}{some}"


FILTERS: dict[str, Callable[..., object]] = {
    "tone": tone,
    "word": word,
    "button": button,
    "way_to": way_to,
    "status": status,
    "data_as_of": data_as_of,
    "next_run": next_run,
    "last_run": last_run,
    "changed": changed,
    "mode": mode,
    "modes": modes,
    "short": short,
    "kept": kept,
    "reads": reads,
    "zipped": zipped,
    "why": why,
    "late_text": late_text,
    "end_text": end_text,
    "moment": formats.time,
    "duration": formats.duration,
    "size": formats.known_size,
    "to_read": to_read,
    "spent": formats.spent,
    "version": formats.version,
    "signed": formats.signed,
    "counts": formats.change_counts,
    "done_of": formats.done_of,
    "budget": formats.budget,
    "queued_options": formats.queued_options,
    "rate": formats.rate,
    "rows_per_second": formats.throttle,
    "waits": formats.waits,
    "follows": follows_text,
    "followed_by": how_followed,
    "next_refresh": next_text,
    "diff": diff,
}
"""By the names that templates use."""
