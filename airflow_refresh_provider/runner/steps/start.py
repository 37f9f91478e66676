"""Starting: hold a run of a definition, a new one or one that was left unfinished.

Of two callers that start at once exactly one wins the compare-and-set; the other finds a live owner and is refused, or
skips. Neither starting nor finding that there is nothing to do needs Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector, ignored_files, same_versions
from airflow_refresh_provider.core.definition.columns import check_padding
from airflow_refresh_provider.core.definition.mode import Mode, row_by_row
from airflow_refresh_provider.core.maintain.binding import at_moment
from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.plan.policy import check_strict
from airflow_refresh_provider.core.query.query import bind_clock
from airflow_refresh_provider.core.run.budget import granted
from airflow_refresh_provider.core.run.cancelling import check_not_cancelled
from airflow_refresh_provider.core.run.clock import clock_moved
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.one_run import check_only
from airflow_refresh_provider.core.run.owner import WAIT_FOR_LEASE
from airflow_refresh_provider.core.run.queue import Served, served, without
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, admit
from airflow_refresh_provider.core.run.request import IfRunning, Request, Serves
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.suspension import check_not_paused, check_not_suspended
from airflow_refresh_provider.core.strategy.foreseeing import foreseen
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.ports.input_kind import InputKinds
from airflow_refresh_provider.ports.read_once import tables_kept_open
from airflow_refresh_provider.ports.watch import TAKE_OVER
from airflow_refresh_provider.runner.facts import (
    pinned_inputs,
    queries,
    readable,
    staging_paths,
    table_places,
    targets,
)
from airflow_refresh_provider.runner.facts.maintaining import maintenance_of
from airflow_refresh_provider.runner.facts.records import being_dropped, owner_liveness, registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.control_writes import commit
from airflow_refresh_provider.runner.hold.leases import attempted, new_lease
from airflow_refresh_provider.runner.hold.takeover import HeldRun, adopt, take_over
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.steps.busy import already_running, may_end_soon
from airflow_refresh_provider.runner.steps.queueing import enqueue, removed_on_failure, waits
from airflow_refresh_provider.runner.windows import change_windows

POLL_SECONDS = 1.0
_NOTHING_CHANGED = "no input has changed since the last refresh, and no other writer has changed the target"
_SHORT_DIGEST = 19  # "sha256:" and twelve digits


@dataclass(frozen=True)
class NotStarted:
    """Why a refresh is not needed (nothing to do), or not now (skipped, queued); ids of requests as in `RunResult`."""

    record: Record
    reason: str
    outcome: Outcome = Outcome.NOTHING_TO_DO
    requests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decided:
    """What was read to decide that a refresh is due: the record, and after it the inputs, which answer as then.

    A run may start from it while the record is still the same: its pins are then no older than any that were applied.
    The control tables and the target are read again all the same. The commit that starts the run needs the newest
    snapshot, and another writer may have come since.
    """

    record: Record
    inputs: InputKinds


StartResult = HeldRun | NotStarted


def begin(ports: Ports, name: str, request: Request, watch: Stopwatch, decided: Decided | None = None) -> StartResult:
    """Hold a run of `name`. Raises Invalid for an unknown name, Refused when it may not be refreshed now, Paused,
    Cancelled for an origin whose run was cancelled. Where one run is meant, Refused once that has ended: also after it
    was abandoned here, as no new one is started.

    Its time is in the stages `start` and `take_over`.
    Where another owner holds the run the request may wait in the queue. The run that is started here serves what waits.
    A run of the request's own origin is attached to, or taken over from the owner that held it for that origin. With
    `take_over` any owner loses the run, and is fenced like one that is gone.
    Tables that the run reads stay open for it (ADR 79).
    """
    ports, deadline = tables_kept_open(ports), ports.clock.now() + WAIT_FOR_LEASE
    while True:
        snapshot = ports.store.read(name)
        record = registered(ports, name, snapshot.record)
        check_only(record, request.only_run)
        if not request.take_over:
            check_not_cancelled(record, request.origin)
        check_not_paused(record)
        liveness = owner_liveness(ports, record)
        admission = admit(record, liveness, ports.clock.now(), request.origin)
        if admission is Admission.RESETTING:
            raise being_dropped(name)
        run = record.run
        if run is None:
            with watch.stage("start"):
                started = _start(ports, snapshot, record, request, decided)
        elif admission is Admission.BUSY and not request.take_over:
            if may_end_soon(ports, name, run, liveness) and ports.clock.now() < deadline:
                ports.clock.sleep(POLL_SECONDS)
                continue
            started = _busy(ports, snapshot, record, run, request)
        elif admission is Admission.ATTACH:
            started = adopt(ports, snapshot, record, run, request)
        else:
            ports.watch.stage(TAKE_OVER)
            with watch.stage("take_over"):
                started = take_over(ports, snapshot, record, run, request)
        if started is not None:
            return started


def up_to_date(ports: Ports, name: str, request: Request) -> NotStarted | None:
    """Why a refresh would do nothing now; None when it may have something to do. Does not wait for an owner.

    Raises Paused, and as `begin` where inputs are missing, which counts as it does there.
    """
    snapshot = ports.store.read(name)
    record = registered(ports, name, snapshot.record)
    check_only(record, request.only_run)
    check_not_cancelled(record, request.origin)
    check_not_paused(record)
    if record.run is not None or record.suspended or record.state is State.RESETTING or request.force:
        return None
    if served(record.queue, request).ids:
        return None
    published = record.published
    if published is None:
        return None
    with ending.store_start_failure(ports, snapshot, record, request):
        pins = _pins(ports, record, request)
    if not _same_result(record, pins, ports.clock.now()):
        return None
    facts = ports.log.facts(record.definition.target)
    if facts is None or targets.changed_reason(ports, published, facts) is not None:
        return None
    found = readable.readability(ports, record.definition, published, facts.version)
    return None if found.view_expires else NotStarted(record, _NOTHING_CHANGED)


def _start(
    ports: Ports, snapshot: Snapshot, record: Record, request: Request, decided: Decided | None
) -> StartResult | None:
    """A new run, or None when another process was faster."""
    check_not_suspended(record)
    serving = served(record.queue, request)
    if request.serves is Serves.ONLY and not serving.ids:
        return NotStarted(record, "no request waits")
    with removed_on_failure(ports, record.name, serving.ids):
        return _serve(ports, snapshot, record, serving, decided)


def _serve(
    ports: Ports, snapshot: Snapshot, record: Record, serving: Served, decided: Decided | None
) -> StartResult | None:
    """As `_start`, for a request, and for those in the queue that the run serves."""
    definition, request = record.definition, serving.request
    left = without(record.queue, serving.ids)
    reading = replace(ports, inputs=decided.inputs) if decided and decided.record == record else ports
    staging_paths.drop_orphans(ports, record.name)
    with ending.store_start_failure(ports, snapshot, record, request):
        pins = _pins(reading, record, request)
        table_places.check(ports, definition)  # a link, or the value of a variable, may be another than when registered
        facts = ports.log.facts(definition.target)
        targets.check(ports, definition, facts)
        check_padding(facts.padded if facts else (), definition.target)
    doubt = targets.doubt_of(ports, record.published, definition.target, facts)
    if not request.force and _same_result(record, pins, ports.clock.now()) and doubt is None:
        published = record.published
        assert published is not None and facts is not None
        if not readable.readability(ports, definition, published, facts.version).view_expires:
            return _not_needed(ports, snapshot, record.model_copy(update={"queue": left}), serving.ids)
    highest = targets.highest_generation(ports, facts) if facts else 0
    run = _new_run(reading, record, pins, 1 + max(record.generation, highest), doubt, serving)
    try:
        commit(ports, snapshot, record.after(Event.START, run=run, generation=run.generation, queue=left), Event.START)
    except StaleSnapshot:
        return None
    if serving.ids:
        ports.watch.note(f"run {run.run_id} serves request {', '.join(serving.ids)}, which has waited")
    reads = "only changes" if run.plan.windows else "everything"
    ports.watch.note(run.estimates.after(f"run {run.run_id} reads {reads}: {run.plan.scope}"))
    for name, ignored in ignored_files(pins).items():
        ports.watch.note(f"input {name}: {ignored.count} files are not read with its folder, such as {ignored.example}")
    ports.watch.note(f"run {run.run_id} starts at {', '.join(f'{n} {_short(p)}' for n, p in pins.items())}")
    return HeldRun(Tenure(ports, record.name, run.run_id, run.generation), resumed=False)


def _pins(ports: Ports, record: Record, request: Request) -> VersionVector:
    applied = record.published.pins if record.published else {}
    return pinned_inputs.as_asked(ports, pinned_inputs.pin(ports, record.definition), request.pins, applied)


def _new_run(
    ports: Ports, record: Record, pins: VersionVector, generation: int, doubt: str | None, serving: Served
) -> Run:
    """A run under a generation above every one in the target: a marker that Delta has seen is never used again."""
    now, request = ports.clock.now(), serving.request
    run_id = ports.processes.new_id()
    budget = granted(request.budget(record.definition.budget), now, generation)
    facts = queries.facts_of(record)
    mode = request.mode or record.definition.mode
    unanalysed = mode is Mode.FULL or row_by_row(facts)
    maintenance = None if unanalysed else maintenance_of(ports, record.definition, pins)
    scope = change_windows.scope_of(ports, record, facts, pins, request, doubt, maintenance)
    check_strict(scope.reason, strict=request.strict and not scope.windows)
    lease = new_lease(ports, generation)
    return Run(
        run_id=run_id,
        definition=record.definition,
        started_at=now,
        lease=lease,
        owners=attempted((), lease, request.origin),
        generations=(generation,),
        attempt_generation=generation,
        origin=request.origin,
        scheduled=request.scheduled,
        budget=budget,
        requests=serving.ids,
        plan=Plan(
            pins=pins,
            moment=now,
            query=bind_clock(record.definition.query_text, facts.clock_spans, now),
            facts=facts,
            staging=staging_paths.of_run(ports, record.name, run_id),
            force=request.force,
            strict=request.strict,
            windows=scope.windows,
            change_bytes=sum(scope.change_bytes.values()),
            scope=scope.reason,
            mode=mode,
            foreseen=foreseen(record, scope, pins),
            maintenance=at_moment(scope.maintenance, facts.clock_spans, now) if scope.maintenance else None,
        ),
    )


def _short(pinned: Pin) -> str:
    return str(pinned.digest)[:_SHORT_DIGEST]


def _same_result(record: Record, pins: VersionVector, now: datetime) -> bool:
    """Whether the query certainly returns what it returned to the last refresh."""
    published = record.published
    if published is None or published.definition_hash != record.definition.hash:
        return False
    if clock_moved(published, queries.facts_of(record), now):
        return False
    return same_versions(*(_counting(record, vector) for vector in (published.pins, pins)))


def _counting(record: Record, vector: VersionVector) -> VersionVector:
    """The inputs whose changes count."""
    given = record.definition.inputs
    return {name: pin for name, pin in vector.items() if name not in given or not given[name].ignore_changes}


def _not_needed(ports: Ports, snapshot: Snapshot, record: Record, ids: tuple[str, ...]) -> NotStarted | None:
    """Nothing to do, for the requests `ids` that have waited neither; None when another process was faster."""
    if ids:
        try:
            commit(ports, snapshot, record.after(Event.UNQUEUE), Event.UNQUEUE)
        except StaleSnapshot:
            return None
    return NotStarted(record, _NOTHING_CHANGED, requests=ids)


def _busy(ports: Ports, snapshot: Snapshot, record: Record, run: Run, request: Request) -> NotStarted | None:
    """What the caller gets while another owner holds the run; None when that may have changed.

    In a cascade nothing waits, for its inputs are pinned for all, and nothing that is about one run only.
    """
    held = f"run {run.run_id} is in progress, held by {run.holder}"
    if request.yields_to(run.origin):
        return NotStarted(record, held, Outcome.SKIPPED)
    if request.if_running is not IfRunning.QUEUE or request.pins or request.only_run:
        raise already_running(record, run, ports.clock.now())
    try:
        found = enqueue(ports, snapshot, record, request)
    except StaleSnapshot:
        return None
    return NotStarted(record, f"{held}; {waits(found)}", Outcome.QUEUED, (found.request.id,))
