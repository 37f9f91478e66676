"""Merging: commit the chunks of each unit to the target, one after the other.

Before each chunk the owner checks that it still holds the unit. A chunk that is already in costs one read of the log.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from airflow_refresh_provider.core.plan.plan import Chunk
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen
from airflow_refresh_provider.errors import Lost
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold.fence import fence_slot
from airflow_refresh_provider.runner.hold.leases import holding_unit
from airflow_refresh_provider.runner.hold.meter import Meter
from airflow_refresh_provider.runner.hold.tenure import Tenure, UnitTenure
from airflow_refresh_provider.runner.report import journal
from airflow_refresh_provider.runner.steps.budgets import BudgetSpent
from airflow_refresh_provider.runner.steps.chunks import apply_chunk, chunk_done
from airflow_refresh_provider.runner.steps.pacing import Merged, Pace


def merge(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> int:
    """Merge every unit of the current round, several in parallel. Returns how many chunks were already in."""
    run = frozen(tenure.read_run())
    units = run.current.units
    if not units:
        return 0
    tenure.ports.watch.stage("merge", *_totals(run))
    slots = tuple(u.slot for u in units)
    if min(workers, len(units)) <= 1:
        own = claim(tenure, session, slots, (run.run.session,) * len(slots))
        return sum(merge_unit(held, session, stop) for held in own)
    claims = claim(tenure, session, slots, tuple(tenure.ports.processes.new_id() for _ in slots))
    with ThreadPoolExecutor(workers, thread_name_prefix="unit") as pool:
        waited = False
        try:
            futures = [pool.submit(_merge_alone, held, stop) for held in claims]
            with tenure.meter.idle():
                wait(futures)
            waited = True
        finally:
            if not waited:  # the units' own errors are in their futures: the process is asked to stop
                stop.set()
                for held in claims:
                    tenure.ports.engine.release(held.claim.session)
    return sum(future.result() for future in sorted(futures, key=_failed_first))


def claim(
    tenure: Tenure, session: EngineSession, slots: tuple[int, ...], sessions: tuple[str, ...]
) -> tuple[UnitTenure, ...]:
    """Claim units. The slot of one that had an owner before is fenced first; other slots are not."""
    claims = tenure.claim(slots, sessions)
    for held in claims:
        fence_unit(held, session)
    return claims


def fence_unit(held: UnitTenure, session: EngineSession) -> None:
    """Fence the unit's slot if the unit had an owner before."""
    if held.before is None:
        return
    run = frozen(held.check())
    if held.before.session != held.claim.session:
        held.whole.ports.engine.release(held.before.session)
    fence_slot(held.whole, session, run, held.slot, held.claim.generation)


def merge_unit(held: UnitTenure, session: EngineSession, stop: threading.Event) -> int:
    """Apply the chunks of one unit that are not in yet. Returns how many were. Raises BudgetSpent, too."""
    run = frozen(held.check())
    ports = held.whole.ports
    unit = next(u for u in run.current.units if u.slot == held.slot)
    targets.check_in_place(ports, run.target)
    done = chunk_done(ports, run, held.slot)
    skipped = [c for c in unit.chunks if c.number <= done]
    if skipped:
        ports.watch.skip(sum(c.counts.total for c in skipped), len(skipped))
    pace = Pace(held, run, stop)
    for chunk in unit.chunks[len(skipped) :]:
        now = pace.next_chunk()
        if now is None:
            break
        pace.done(_merge_chunk(held, session, now, chunk, unit.chunks[-1].number))
    pace.ended(run)
    return len(skipped)


def _merge_chunk(held: UnitTenure, session: EngineSession, run: FrozenRun, chunk: Chunk, of: int) -> Merged:
    """Commit a chunk and record that it is in."""
    ports = held.whole.ports
    started, took = ports.clock.now(), Stopwatch(ports.clock)
    commit = apply_chunk(held, session, run, chunk)
    journal.chunk_done(held, run.run, chunk, commit)
    rows = chunk.counts.total or max(0, commit.net_rows or 0)
    way = chunk.way.value
    ports.watch.committed(Committed(run.run.run_id, held.slot, chunk.number, of, way, rows, took.total()))
    return Merged(rows, started, ports.clock.now())


def _merge_alone(of_run: UnitTenure, stop: threading.Event) -> int:
    """A unit in a session of its own. A failure stops the other units before their next chunk."""
    ports = of_run.whole.ports
    held = replace(of_run, meter=Meter(ports.clock))
    session = ports.engine.open(held.claim.session)
    held.meter.follow(session)
    done = False
    try:
        with holding_unit(held):
            skipped = merge_unit(held, session, stop)
        done = True
        return skipped
    finally:
        if not done:
            stop.set()
        session.close()
        of_run.meter.add_rest_of(held.meter)


def _failed_first(future: Future[int]) -> int:
    """Losing the run explains every other failure, so it is raised first; a failure comes before a spent budget."""
    match future.exception():
        case Lost():
            return 0
        case BudgetSpent():
            return 2
        case error:
            return 1 if error else 3


def _totals(run: FrozenRun) -> tuple[int, int]:
    """Rows and chunks to merge; of a direct load of the query only the rows of its result are known."""
    chunks = [c for u in run.current.units for c in u.chunks]
    staged = run.current.changes is not None
    return sum(c.counts.total for c in chunks) if staged else run.frozen.source_rows, len(chunks)
