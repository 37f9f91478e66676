"""The gate: before a run is published, it reads what was committed to the target since the comparison.

Where another writer has committed, the vnodes that it touched are compared and applied again, a few times at most.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from airflow_refresh_provider.core.log.commits import Commit, Foreign, Origin, foreign, origin
from airflow_refresh_provider.core.log.seal import Seal, planned_growth
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen
from airflow_refresh_provider.errors import Defect, Failed
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.hold.log_lookup import seal_of
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.steps import chunks, merge
from airflow_refresh_provider.runner.steps.budgets import BudgetSpent
from airflow_refresh_provider.runner.windows import comparing, rounds

REPAIR_ROUNDS = 5


class Passed(NamedTuple):
    """What the gate lets through: a version of the target, and the version of its seal if it has one already."""

    version: int
    seal: int | None


def gate(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> Passed:
    """The version at which the target equals the pinned query. Repairs what others have written meanwhile."""
    for left in reversed(range(REPAIR_ROUNDS)):
        run = frozen(tenure.read_run())
        targets.check_in_place(tenure.ports, run.target)
        if sealed := _sealed_by_its_chunk(tenure, run):
            return Passed(sealed.published, sealed.version)
        if slots := chunks.unfinished(tenure.ports, run):
            if run.run.budget and run.run.budget.spent:
                raise BudgetSpent(run.run.budget.spent)
            raise chunks.chunks_missing(tenure.name, slots)
        newest = tenure.ports.log.newest(run.target.location)
        found = _unplanned(tenure, run, newest)
        if not found.found:
            if run.current.reads_inputs:
                pinned_inputs.check_in_place(tenure.ports, run.run)
            return Passed(newest, None)
        if not left:
            break
        versions = list(found.versions)
        tenure.ports.watch.note(f"versions {versions} of the target have unplanned changes: comparing again")
        _repair(tenure, session, found, newest)
        merge.merge(tenure, session, workers, stop)
    raise _contended(run)


def commits_with_data(commits: Iterable[Commit], run: FrozenRun) -> list[Commit]:
    """The commits of a run that changed rows."""
    generations = run.run.generations
    return [c for c in commits if c.data_change and origin(c, run.target.table_id, generations) is Origin.OURS]


def _sealed_by_its_chunk(tenure: Tenure, run: FrozenRun) -> Seal | None:
    """The seal that the run already has; None where the log was cleaned out, which the gate handles."""
    with suppress(LogGap):
        return seal_of(tenure.ports, run.run)
    return None


def _unplanned(tenure: Tenure, run: FrozenRun, newest: int) -> Foreign:
    """What changed since the newest comparison other than by the plan. A log with a gap: everything may have."""
    try:
        commits = tenure.ports.log.commits(run.target.location, after=run.current.base, upto=newest)
    except LogGap:
        return Foreign(versions=(newest,), vnodes=None)
    found = foreign(commits, run.target.table_id, run.run.generations)
    if not found.found and not _grown_as_planned(run, commits):
        return _unexpected(run, newest)
    return found


def _grown_as_planned(run: FrozenRun, commits: tuple[Commit, ...]) -> bool:
    """Whether the target grew by the planned number of rows, as far as its log has statistics."""
    planned = planned_growth(run.current)
    ours = commits_with_data(commits, run)
    if planned is None or any(c.net_rows is None for c in ours):
        return True
    return sum(c.net_rows or 0 for c in ours) == planned


def _unexpected(run: FrozenRun, newest: int) -> Foreign:
    """What to compare when the target did not grow as planned. Raises Defect when the plan came from a comparison.

    A window only shows what happened to an input. Where the result does not add up, as when two of its rows had one
    key, a comparison finds out.
    """
    if run.current.compared:
        raise Defect(
            "count_mismatch",
            f"the target {run.target.location} grew by another number of rows than was planned",
            left="Nothing was published; the target holds the applied chunks.",
            next="Report this with the target's log; `run --on-interrupted restart` compares everything again.",
        )
    return Foreign(versions=(newest,), vnodes=None)


def _repair(tenure: Tenure, session: EngineSession, found: Foreign, newest: int) -> None:
    """Compare what others have touched with the pinned query again, and plan the chunks that follow from it."""
    run = frozen(tenure.read_run())
    compared = comparing.compare(tenure, session, newest, found.vnodes)
    pinned_inputs.check_in_place(tenure.ports, run.run)
    extra = rounds.round_of(run, newest, compared, found.vnodes)
    repaired = run.frozen.model_copy(update={"rounds": (*run.frozen.rounds, extra)})
    tenure.write(Event.REPAIR, frozen=repaired, claims={})


def _contended(run: FrozenRun) -> Failed:
    return Failed(
        "target_contended",
        f"other writers kept committing to the target {run.target.location} through {REPAIR_ROUNDS} comparisons",
        left="All chunks are in the target, and rows of the other writers too; nothing was published.",
        next="Stop the other writer, then run again: it continues with another comparison.",
    )
