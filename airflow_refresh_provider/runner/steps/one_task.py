"""The phases of a refresh one by one, each in a process of its own, for whoever orders them as tasks.

All of them name the same origin. Between two phases the run is parked: nobody else takes it before its deadline, and
the next phase attaches to it. A phase that is repeated after its process died takes the run over from itself, fences
and all. Units are merged side by side under claims of their own; none of them holds the run.
"""

from __future__ import annotations

import threading

from airflow_refresh_provider.core.changes.pins import VersionVector, same_versions
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.recovery import Step
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult, StartedRun, UnitOfWork
from airflow_refresh_provider.core.run.suspension import check_not_paused
from airflow_refresh_provider.errors import Failed, Interrupted, Invalid, Refused, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending, takeover
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.hold.tenure import Tenure, run_ended
from airflow_refresh_provider.runner.report.reports import published_for
from airflow_refresh_provider.runner.steps import load, merge
from airflow_refresh_provider.runner.steps.one_process import carry_on, end, keep_or_abandon, log_gap, nothing, working
from airflow_refresh_provider.runner.steps.start import NothingToDo, begin


def start(ports: Ports, name: str, request: Request) -> StartedRun | RunResult:
    """Hold a run and park it; a RunResult says that there is nothing to do. Raises as `begin`.

    An unfinished run that reads other versions than were asked for is finished here, before the one that was asked for.
    """
    watch = Stopwatch(ports.clock)
    begun = begin(ports, name, request)
    if isinstance(begun, HeldRun) and _reads_others(begun.tenure.read_run(), request.pins):
        carry_on(begun, request, watch, _step(begun))
        begun = begin(ports, name, request)
    if isinstance(begun, NothingToDo):
        return nothing(begun, watch)
    _park(begun)
    reason = begun.decision.reason if begun.decision else None
    return StartedRun(name=name, run_id=begun.tenure.run_id, resumed=begun.resumed, reason=reason)


def fill(ports: Ports, name: str, request: Request) -> tuple[UnitOfWork, ...]:
    """Fill and freeze staging unless that was done; the units to merge, those already in the target included."""
    taken = _attached(ports, name, request)
    if taken.tenure.read_run().frozen is None:
        with keep_or_abandon(taken.tenure), working(taken, Stopwatch(ports.clock)) as session:
            load.load(taken.tenure, session)
    units = _units(taken.tenure.read_run())
    _park(taken)
    return units


def merge_unit(ports: Ports, name: str, request: Request, slot: int) -> int:
    """Merge one unit under a claim of its own. Returns how many of its chunks were already in.

    Raises Lost when the run is not between its load and its end, or has no such unit, as for a task that was given up
    long ago.
    """
    run = _own_run(ports, name, request)
    unit = next((u for u in _units(run) if u.unit == slot), None) if run.frozen else None
    if unit is None or run.lease.parked_until is None:
        raise run_ended(ports, name, request.origin)
    ports.watch.stage("merge", unit.rows, unit.chunks)
    session_id = ports.processes.new_id()
    [held] = Tenure(ports, name, run.run_id, run.generation).claim((slot,), (session_id,))
    with ports.heart.beating(name, run.run_id, slot, held.claim.generation):
        session = ports.engine.open(session_id)
        try:
            merge.fence_unit(held, session)
            return merge.merge_unit(held, session, threading.Event())
        except (Invalid, Refused, Failed) as error:
            ending.note_failure(held.whole, error)
            raise
        except Retry:
            # To one who was shut out, that is what went wrong, whatever Spark has told him.
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
    """Everything after the units: gate, seal, publish, view, clean up.

    Raises Failed when chunks are missing, or when the run was begun anew and has not been loaded.

    The result's seconds are those of the run, from its start in another process on. Where this origin has published
    its run before, that result is told again: whoever announces it may not have got to it.
    """
    if done := _published_before(ports, name, request):
        return done
    taken = _attached(ports, name, request)
    run = taken.tenure.read_run()
    watch = Stopwatch(ports.clock, since=run.started_at)
    if run.frozen is None:
        _park(taken)
        raise _not_loaded(name)
    with keep_or_abandon(taken.tenure):
        step = _step(taken)
    return carry_on(taken, request, watch, step, end)


def interrupt(ports: Ports, name: str, request: Request) -> bool:
    """Shut out whoever still works for this origin and leave the run to anyone; False when no run of it is left.

    Raises Lost when the definition was dropped.
    """
    snapshot = ports.store.read(name)
    record = snapshot.record or registered(ports, name, None)
    if record.dropped or record.state is State.RESETTING:
        raise run_ended(ports, name, request.origin)
    if record.run is None or record.run.origin != request.origin:
        return False
    if taken := takeover.take_over(ports, snapshot, record, request):
        takeover.close(taken.session)
        ending.release(taken.tenure)
    return True


def _attached(ports: Ports, name: str, request: Request) -> HeldRun:
    """The run of this origin, held by this process. Raises Lost when it is over, or somebody else's now."""
    _own_run(ports, name, request)
    begun = begin(ports, name, request)
    if isinstance(begun, NothingToDo):
        raise run_ended(ports, name, request.origin)
    return begun


def _own_run(ports: Ports, name: str, request: Request) -> Run:
    record = ports.store.read(name).record or registered(ports, name, None)
    if record.run is None or record.run.origin != request.origin:
        raise run_ended(ports, name, request.origin)
    check_not_paused(record)
    return record.run


def _published_before(ports: Ports, name: str, request: Request) -> RunResult | None:
    record = ports.store.read(name).record or registered(ports, name, None)
    unfinished = record.run is not None and record.run.origin == request.origin
    return None if unfinished or not request.origin else published_for(ports, name, request.origin)


def _reads_others(run: Run, wanted: VersionVector) -> bool:
    """Whether a run reads an input, whose changes count, at another version than is wanted at its place."""
    counting = {name for name, read in run.definition.inputs.items() if not read.ignore_changes}
    pairs = ((pin, wanted.get(pin.location)) for name, pin in run.plan.pins.items() if name in counting)
    return any(asked is not None and not same_versions({"": pin}, {"": asked}) for pin, asked in pairs)


def _step(taken: HeldRun) -> Step:
    """How a run that is held goes on. Raises LogGap."""
    return taken.decision.step if taken.decision else takeover.step_left(taken.tenure)


def _park(taken: HeldRun) -> None:
    takeover.close(taken.session)
    takeover.park(taken.tenure)


def _units(run: Run) -> tuple[UnitOfWork, ...]:
    assert run.frozen is not None
    return tuple(
        UnitOfWork(unit=u.slot, chunks=len(u.chunks), rows=sum(c.counts.total for c in u.chunks))
        for u in run.frozen.current.units
    )


def _not_loaded(name: str) -> Failed:
    return Failed(
        "not_loaded",
        f"this task's run of {name} has ended, and the one that `start` has begun since has not been loaded",
        left="Nothing was published.",
        next="Clear the tasks from `load` on, or let the next DAG run go on.",
    )
