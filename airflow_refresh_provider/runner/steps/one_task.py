"""The phases of a refresh one by one, each in a process of its own, for callers that order them as tasks.

All of them name the same origin. Between two phases the run is parked: no other caller takes it before the deadline,
and the next phase attaches to it. A phase that is repeated after its process died takes the run over and fences. Units
are merged in parallel under claims of their own; none of them holds the run.
"""

from __future__ import annotations

import threading

from airflow_refresh_provider.core.changes.pins import VersionVector, same_versions
from airflow_refresh_provider.core.run.cancelling import check_not_cancelled
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen, frozen_or_none
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.recovery import Step
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult, StartedRun, UnitOfWork
from airflow_refresh_provider.core.run.suspension import check_not_paused
from airflow_refresh_provider.core.timing.cascade import stopped_upstream
from airflow_refresh_provider.errors import Failed, Interrupted, Invalid, Refused, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts.hidden_values import without_values
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending, leases, takeover
from airflow_refresh_provider.runner.hold.abandoning import abandon_cancelled
from airflow_refresh_provider.runner.hold.losses import run_ended
from airflow_refresh_provider.runner.hold.run_sessions import close
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.report.reports import published_for
from airflow_refresh_provider.runner.steps import load, merge
from airflow_refresh_provider.runner.steps.found import found
from airflow_refresh_provider.runner.steps.one_process import continue_run, end, keep_or_abandon, log_gap, working
from airflow_refresh_provider.runner.steps.run_results import not_started
from airflow_refresh_provider.runner.steps.start import NotStarted, begin


def start(ports: Ports, name: str, request: Request) -> StartedRun | RunResult:
    """Hold a run and park it; a RunResult says that there is nothing to do, or that it is skipped. Raises as `begin`.

    An unfinished run that reads other versions than requested is finished here, before the requested one.
    """
    watch = Stopwatch(ports.clock)
    if skipped := _without_upstream(ports, name, request):
        return not_started(skipped, watch)
    started = begin(ports, name, request, watch)
    if isinstance(started, HeldRun) and _reads_others(started.tenure.read_run(), request.pins):
        before = continue_run(started, request, watch, _step(started))
        if before.outcome is Outcome.BUDGET_SPENT:
            return before
        started = begin(ports, name, request, watch)
    if isinstance(started, NotStarted):
        return not_started(started, watch)
    _park(started)
    reason = started.decision.reason if started.decision else None
    return StartedRun(name=name, run_id=started.tenure.run_id, resumed=started.resumed, reason=reason)


def fill(ports: Ports, name: str, request: Request) -> tuple[UnitOfWork, ...]:
    """Fill and freeze staging unless that was done; the units to merge, those already in the target included."""
    held = _attached(ports, name, request)
    if held.tenure.read_run().frozen is None:
        with keep_or_abandon(held.tenure), working(held, Stopwatch(ports.clock)) as session:
            load.load(held.tenure, session)
    filled = frozen(held.tenure.read_run())
    units = _units(filled)
    ports.watch.note(found(filled.frozen))
    _park(held)
    return units


def merge_unit(ports: Ports, name: str, request: Request, slot: int) -> int:
    """Merge one unit under a claim of its own. Returns how many of its chunks were already in.

    Raises BudgetSpent when chunks are left that the next run applies. Raises Lost when the run is not between its load
    and its end, or has no such unit, as for a task of an earlier try.
    """
    run = _own_run(ports, name, request)
    planned = frozen_or_none(run)
    unit = next((u for u in _units(planned) if u.unit == slot), None) if planned else None
    if unit is None or run.lease.parked_until is None:
        raise run_ended(ports, name, request.origin)
    ports.watch.stage("merge", unit.rows, unit.chunks)
    session_id = ports.processes.new_id()
    [held] = Tenure(ports, name, run.run_id, run.generation).claim((slot,), (session_id,))
    with leases.holding_unit(held):
        session = ports.engine.open(session_id)
        held.meter.follow(session)
        try:
            with without_values(ports.environment, run.definition.inputs.values()):
                merge.fence_unit(held, session)
                return merge.merge_unit(held, session, threading.Event())
        except (Invalid, Refused, Failed) as error:
            held.must_be_held()
            ending.record_failure(held.whole, error)
            raise
        except Retry:
            # Lost explains whatever error Spark has raised to an owner that was fenced.
            held.must_be_held()
            raise
        except LogGap:
            raise log_gap(held.whole) from None
        except Interrupted:
            ports.engine.release(session_id)
            raise
        finally:
            session.close()


def finish(ports: Ports, name: str, request: Request) -> RunResult:
    """Everything after the units: gate, seal, publish, view, clean up. A run whose budget is spent is released instead.

    Raises Failed when chunks are missing, or when a new run was started and has not been loaded.

    The result's seconds are those of the run, from its start in another process on. Where this origin has published
    its run before, that result is returned again: the earlier try may not have announced it.
    """
    if done := _published_before(ports, name, request):
        return done
    held = _attached(ports, name, request)
    run = held.tenure.read_run()
    watch = Stopwatch(ports.clock, since=run.started_at)
    if run.frozen is None:
        _park(held)
        raise _not_loaded(name)
    with keep_or_abandon(held.tenure):
        step = _step(held)
    return continue_run(held, request, watch, step, end)


def interrupt(ports: Ports, name: str, request: Request) -> bool:
    """Fence the owners of this origin's run and release it; False when the origin has no run, or its budget was spent.

    Raises Lost when the definition was dropped, Cancelled when the run was cancelled: it is released already, and
    abandoned here if it was cancelled for good.
    """
    snapshot = ports.store.read(name)
    record = snapshot.record or registered(ports, name, None)
    if record.dropped or record.state is State.RESETTING:
        raise run_ended(ports, name, request.origin)
    run = record.run
    if run is not None and run.origin == request.origin and run.cancelled:
        abandon_cancelled(ports, name, run.run_id)
    check_not_cancelled(record, request.origin)
    if run is None or run.origin != request.origin or run.stopped:
        return False
    if held := takeover.take_over(ports, snapshot, record, run, request):
        close(held.session)
        leases.release_fenced(held.tenure, run)
    return True


def _without_upstream(ports: Ports, name: str, request: Request) -> NotStarted | None:
    """Why a refresh of a cascade is skipped: it would join what is new with a target that has stopped before."""
    if not request.pins:
        return None
    records = {record.name: record for record in ports.store.records()}
    stopped = stopped_upstream(name, records, request.origin) if name in records else ()
    reason = f"{', '.join(stopped)} upstream of it was not refreshed: its budget is spent"
    return NotStarted(records[name], reason, Outcome.SKIPPED) if stopped else None


def _attached(ports: Ports, name: str, request: Request) -> HeldRun:
    """The run of this origin, held by this process. Raises Lost when it has ended, or has another origin now."""
    _own_run(ports, name, request)
    started = begin(ports, name, request, Stopwatch(ports.clock))
    if isinstance(started, NotStarted):
        raise run_ended(ports, name, request.origin)
    return started


def _own_run(ports: Ports, name: str, request: Request) -> Run:
    record = ports.store.read(name).record or registered(ports, name, None)
    if record.run is None or record.run.origin != request.origin:
        raise run_ended(ports, name, request.origin)
    check_not_cancelled(record, request.origin)
    check_not_paused(record)
    return record.run


def _published_before(ports: Ports, name: str, request: Request) -> RunResult | None:
    record = ports.store.read(name).record or registered(ports, name, None)
    unfinished = record.run is not None and record.run.origin == request.origin
    return None if unfinished or not request.origin else published_for(ports, name, request.origin)


def _reads_others(run: Run, requested: VersionVector) -> bool:
    """Whether a run reads an input, whose changes count, at another version than is requested for its location."""
    counting = {name for name, read in run.definition.inputs.items() if not read.ignore_changes}
    pairs = ((pin, requested.get(pin.location)) for name, pin in run.plan.pins.items() if name in counting)
    return any(asked is not None and not same_versions({"": pin}, {"": asked}) for pin, asked in pairs)


def _step(held: HeldRun) -> Step:
    """How a held run continues. Raises LogGap."""
    return held.decision.step if held.decision else takeover.step_left(held.tenure)


def _park(held: HeldRun) -> None:
    close(held.session)
    leases.park(held.tenure)


def _units(run: FrozenRun) -> tuple[UnitOfWork, ...]:
    return tuple(
        UnitOfWork(unit=u.slot, chunks=len(u.chunks), rows=sum(c.counts.total for c in u.chunks))
        for u in run.current.units
    )


def _not_loaded(name: str) -> Failed:
    return Failed(
        "not_loaded",
        f"this task's run of {name} has ended, and the one that `start` has started since has not been loaded",
        left="Nothing was published.",
        next="Clear the tasks from `load` on, or wait for the next DAG run.",
    )
