"""One run in detail: what it reads, how far it is, and what it leaves if it does not come to its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.attempt import Attempts
from airflow_refresh_provider.core.run.budget import RunBudget
from airflow_refresh_provider.core.run.cancellation import CODE as CANCELLED
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome, RunResult
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.core.run.steering import Offer
from airflow_refresh_provider.core.text.stored import Stored


class Part(StrEnum):
    """How far a phase or a chunk is."""

    DONE = "done"
    EARLIER = "earlier"  # done by an earlier attempt
    RUNNING = "running"
    WAITING = "waiting"


class ChunkDetail(Stored):
    """A chunk of a run: `rows` are those that it changes, null where that is not known before its commit."""

    unit: int
    number: int
    state: Part
    way: str | None = None
    rows: int | None = None


class Phase(Stored):
    """A phase of a run; `seconds` are known of one that has ended."""

    name: str
    state: Part
    seconds: float | None = None


class PinnedInput(Stored):
    """An input as the run reads it: its version or the digest of its files, and the window of its changes, if any."""

    name: str
    version: int | str
    after: int | str | None = None


class RunDetail(Stored):
    """A run in progress, or one that has ended, which has an `outcome`. `cancelled`: by whom, if not resumed since.

    `planned` are the rows that it changes, null before they are known, and `unchanged` those that stay as they are.
    `chunks` are all of a run in progress once they are planned, of an ended one those whose progress is still kept.
    `error`: why it was not published, how the data was left, and the command to run. `budget` and `throttle`, rows a
    second, are those of a run in progress; the `spent` of the former says why it stops, `waits` until when units wait
    for the latter, by unit. `offers`: what can be done with it. `spent` is what the run has cost, of one in progress as
    far as that is stored; null of runs of earlier versions. `bytes_to_read` and `estimates` as in a result.
    `requests`: ids of those from the queue that it was started for. `owners`: who held it in each attempt.
    `requested_mode` is what was asked for, `mode` how it is done.
    """

    name: str
    run_id: str
    outcome: Outcome | None = None
    stage: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    origin: str | None = None
    owner: str | None = None
    live: bool = False
    kept_until: datetime | None = None
    cancelled: Cancellation | None = None
    requests: tuple[str, ...] = ()
    attempts: int = 0
    owners: Attempts = ()
    generations: tuple[int, ...] = ()
    mode: str | None = None
    requested_mode: str | None = None
    mode_code: ReasonCode | None = None
    mode_reason: str | None = None
    estimates: Estimates = Estimates()
    inputs: tuple[PinnedInput, ...] = ()
    planned: ChangeCounts | None = None
    unchanged: int | None = None
    chunks_done: int = 0
    chunks_total: int | None = None
    rows_done: int = 0
    rows_total: int | None = None
    percent: float | None = None
    rows_per_second: float | None = None
    seconds_left: float | None = None
    phases: tuple[Phase, ...] = ()
    chunks: tuple[ChunkDetail, ...] = ()
    notices: tuple[Notice, ...] = ()
    offers: tuple[Offer, ...] = ()
    budget: RunBudget | None = None
    throttle: int | None = None
    spent: Spent | None = None
    bytes_to_read: int | None = None
    waits: dict[int, datetime] = {}
    error: ErrorReport | None = None
    result: RunResult | None = None


_PHASES = ("load", "merge", "cleanup")


def phases_of(run: Run, *, held: bool) -> tuple[Phase, ...]:
    """The phases of a run in progress; one without an owner waits."""
    at = 2 if run.published else 1 if run.frozen else 0
    states = [Part.DONE] * at + [Part.RUNNING if held else Part.WAITING] + [Part.WAITING] * (2 - at)
    return tuple(Phase(name=name, state=state) for name, state in zip(_PHASES, states, strict=True))


def ended_phases(result: RunResult) -> tuple[Phase, ...]:
    """The phases of a run that was published. In a phased DAG the last task knows how long its own ones took."""
    before = () if "merge" in result.stages or not result.chunks.done else ("load", "merge")
    known = tuple(Phase(name=name, state=Part.DONE, seconds=took) for name, took in result.stages.items())
    return (*(Phase(name=name, state=Part.DONE) for name in before), *known)


def inputs_of(run: Run) -> tuple[PinnedInput, ...]:
    """What a run in progress reads."""
    found = digests(run.plan.pins)
    windows = run.windows
    return tuple(
        PinnedInput(name=name, version=version, after=windows[name].after if name in windows else None)
        for name, version in found.items()
    )


def chunks_of(run: Run, done: Mapping[tuple[int, int], int], *, live: bool) -> tuple[ChunkDetail, ...]:
    """Every planned chunk of a run in progress, in the order in which its units apply them.

    `done`: (unit, chunk) -> generation that has applied it, as far as that is recorded. Chunks of a unit follow each
    other, so that one below a recorded one is done too.
    """
    planned = (
        [(unit.slot, chunk) for one in run.frozen.rounds for unit in one.units for chunk in unit.chunks]
        if (run.frozen)
        else []
    )
    reached = {unit: max(number for of, number in done if of == unit) for unit, _ in done}
    since = {unit: claim.generation for unit, claim in run.claims.items()}
    busy = (set(run.claims) or {unit for unit, _ in planned}) if live and not run.published else set()

    def state_of(unit: int, number: int) -> Part:
        if number <= reached.get(unit, 0):
            applied = done.get((unit, number), run.generation)
            return Part.EARLIER if applied < max(run.attempt_generation, since.get(unit, 0)) else Part.DONE
        if unit in busy:
            busy.remove(unit)  # its first chunk that is not done
            return Part.RUNNING
        return Part.WAITING

    return tuple(
        ChunkDetail(
            unit=unit,
            number=chunk.number,
            state=state_of(unit, chunk.number),
            way=chunk.way.value,
            rows=chunk.counts.total if chunk.by_vnode else None,
        )
        for unit, chunk in planned
    )


def aftermath(record: Record, run_id: str, code: str, reason: str, done: int) -> ErrorReport:
    """What a run leaves that failed and is kept, or that has ended without being published."""
    run, name, version = record.run, record.name, record.published.version if record.published else None
    readers = (
        "Nothing is published yet." if version is None else f"Readers of the published version see version {version}."
    )
    chunks = f"{done} chunk{'s' if done != 1 else ''} of it are in the target, and stay there. " if done else ""
    first = f"`airflow-refresh resume {name}`, then " if record.suspended or record.paused else ""
    after = f"{first}`airflow-refresh run {name}`"
    if run is not None and run.run_id != run_id:
        after = f"`airflow-refresh progress {name}` shows the run that has followed"
    elif run is not None and not run.unresumable_reason:
        after += f" continues it after its last chunk; `airflow-refresh abandon {name}` ends it for good"
    else:
        after += " starts a new run"
    left = f"{chunks or 'The target was not changed. '}{readers}"
    fix = "" if code == CANCELLED else "Fix the cause. "
    return ErrorReport(code=code, message=reason, left=left, next=f"{fix}{after}.")
