"""A run whose budget is spent: it stops before its next chunk, is released, and the next caller continues it.

Every unit looks at the one budget of the run. The first that finds it spent stores that, before any unit stops. As long
as no chunk was committed since the budget counts, one is: every run gets ahead.
"""

from __future__ import annotations

from airflow_refresh_provider.core.log.commits import Origin, origin
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.run.budget import RunBudget, spent
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.log_lookup import marked_chunks
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.hold.tenure import UnitTenure
from airflow_refresh_provider.runner.steps.run_results import stopped_result


class BudgetSpent(Exception):
    """The budget of the run is spent, and chunks are left. It ends as a result, and is no error."""


class Written:
    """The bytes that a run has written into its target since its budget counts; each commit is read once."""

    def __init__(self, ports: Ports, run: FrozenRun) -> None:
        self._log = ports.log
        self._location = run.target.location
        self._base = run.frozen.first_base
        self._after: int | None = None
        self._bytes = 0

    def upto_now(self, run: FrozenRun, budget: RunBudget) -> int:
        """Bytes of the data files that its commits have added. Raises LogGap."""
        if self._after is None:
            self._after = max(self._base, self._log.oldest(self._location) - 1)
        generations = _counting(run, budget)
        for commit in self._log.commits(self._location, after=self._after):
            self._after = commit.version
            if origin(commit, run.target.table_id, generations) is Origin.OURS:
                self._bytes += commit.bytes_added
        return self._bytes


def check_budget(held: UnitTenure, run: FrozenRun, written: Written) -> None:
    """Raises BudgetSpent when no other chunk may start, after that is stored; Lost, LogGap."""
    budget, ports = run.run.budget, held.whole.ports
    if budget is None:
        return
    so_far = written.upto_now(run, budget) if budget.bytes is not None else 0
    found = budget.spent or spent(budget, ports.clock.now(), so_far)
    if found is None or not _got_ahead(ports, run, budget):
        return
    if budget.spent is None:
        stopped = {"spent": found, "spent_at": ports.clock.now()}
        held.whole.write(Event.STOP, budget=budget.model_copy(update=stopped))
    raise BudgetSpent(found)


def stop(held: HeldRun, watch: Stopwatch) -> RunResult:
    """Release a run whose budget is spent; the result says how far it is. Raises Lost."""
    tenure = held.tenure
    run = frozen(tenure.read_run())
    reached = marked_chunks(tenure.ports, run, run.run.generations)
    done = sum(chunk.number <= reached[unit.slot] for unit, chunk in run.chunks)
    assert run.run.budget is not None
    reason = (
        f"its budget is spent ({run.run.budget.spent}): {done:,} of {counted(len(run.chunks), 'chunk')} are in the "
        "target, and the next run continues"
    )
    tenure.ports.watch.note(f"run {tenure.run_id} stops: {reason}")
    record = ending.release_stopped(tenure, reason)
    return stopped_result(record, held, done, reason, watch)


def _counting(run: FrozenRun, budget: RunBudget) -> list[int]:
    """The generations of the run since its budget counts."""
    return [generation for generation in run.run.generations if generation >= budget.generation]


def _got_ahead(ports: Ports, run: FrozenRun, budget: RunBudget) -> bool:
    """Whether a chunk was committed since the budget counts, as far as no later fence hides it."""
    found, generations = ports.log.markers(run.target.location), _counting(run, budget)
    newest = (found.get(slot_app_id(run.target.table_id, slot)) for slot in run.frozen.slots)
    markers = [Marker.of(version) for version in newest if version is not None]
    return any(marker.generation in generations and not marker.fence for marker in markers)
