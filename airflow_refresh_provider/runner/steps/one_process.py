"""One refresh from start to end in this process: the steps in order, and what becomes of the run when one fails.

Before staging is frozen, a failure that would only repeat itself abandons the run. Afterwards the run is kept, and
released so that the next caller resumes it at once. An owner that has lost changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.recovery import Step
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.core.timing.due import is_late
from airflow_refresh_provider.errors import Cancelled, Failed, Interrupted, Invalid, Lost, RefreshError, Refused, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts.hidden_values import without_values
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending, run_ends
from airflow_refresh_provider.runner.hold.abandoning import abandon_quietly
from airflow_refresh_provider.runner.hold.leases import holding
from airflow_refresh_provider.runner.hold.spending import spent_by
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.report import freshness
from airflow_refresh_provider.runner.steps import budgets, finish, load, merge
from airflow_refresh_provider.runner.steps.run_results import not_started, result_of
from airflow_refresh_provider.runner.steps.start import Decided, NotStarted, begin

Work = Callable[[Tenure, EngineSession, Request, Stopwatch], int]
"""What is done with a run that is held; returns how many chunks were already in."""


def refresh(ports: Ports, name: str, request: Request, decided: Decided | None = None) -> RunResult:
    """Bring a definition's target up to its query. Raises errors.*; the module says what they leave behind."""
    watch = Stopwatch(ports.clock)
    started = begin(ports, name, request, watch, decided)
    if isinstance(started, NotStarted):
        return not_started(started, watch)
    try:
        return continue_run(started, request, watch, started.decision.step if started.decision else Step.RESUME)
    except Cancelled:
        abandon_quietly(ports, name, started.tenure.run_id)
        raise


def continue_run(held: HeldRun, request: Request, watch: Stopwatch, step: Step, work: Work | None = None) -> RunResult:
    """Do what the step says with a held run; `work` is what is left of one that is not sealed yet."""
    tenure = held.tenure
    skipped = 0
    if step is not Step.RESUME and not tenure.read_record().definition.view:
        return _end_without_spark(held, step, watch)
    try:
        with keep_or_abandon(tenure), working(held, watch) as session:
            if step is Step.PUBLISH:
                finish.publish_sealed(tenure)
            elif step is Step.RESUME:
                skipped = (work or _load_merge_and_end)(tenure, session, request, watch)
            view_error = finish.show(tenure, session)
            result = _end(held, watch, skipped)
    except budgets.BudgetSpent:
        return budgets.stop(held, watch)
    if view_error:
        raise view_error
    return result


def _end_without_spark(held: HeldRun, step: Step, watch: Stopwatch) -> RunResult:
    """End a run that is sealed or published: only control tables are left to write."""
    if step is Step.PUBLISH:
        with keep_or_abandon(held.tenure), watch.stage("publish"):
            finish.publish_sealed(held.tenure)
    return _end(held, watch, skipped=0)


def end(tenure: Tenure, session: EngineSession, request: Request, watch: Stopwatch) -> int:
    """From the last chunk to the published version. Raises Failed when chunks are missing."""
    with watch.stage("publish"):
        finish.finish(tenure, session, request.workers, threading.Event())
    return 0


def _load_merge_and_end(tenure: Tenure, session: EngineSession, request: Request, watch: Stopwatch) -> int:
    """From wherever the run stands to its published version. Returns how many chunks were already in."""
    stop = threading.Event()
    if tenure.read_run().frozen is None:
        with watch.stage("load"):
            load.load(tenure, session)
    with watch.stage("merge"):
        skipped = merge.merge(tenure, session, request.workers, stop)
    with watch.stage("publish"):
        finish.finish(tenure, session, request.workers, stop)
    return skipped


@contextmanager
def working(held: HeldRun, watch: Stopwatch) -> Iterator[EngineSession]:
    """The run's Spark session, and signs of life, for as long as the work lasts."""
    tenure, ports = held.tenure, held.tenure.ports
    run = tenure.read_run()
    session_id, inputs = run.session, run.definition.inputs.values()
    with without_values(ports.environment, inputs), holding(tenure):
        with watch.stage("connect"):
            session = held.session or ports.engine.open(session_id)
            tenure.meter.follow(session)
        try:
            yield session
        except Interrupted:
            ports.engine.release(session_id)
            raise
        finally:
            session.close()


@contextmanager
def keep_or_abandon(tenure: Tenure) -> Iterator[None]:
    """Release or abandon a run when the work on it fails; the module says which."""
    try:
        yield
    except Lost:
        raise
    except (Invalid, Refused, Failed) as error:
        if ending.must_be_kept(tenure, error):
            ending.record_failure(tenure, error)
            ending.release_quietly(tenure)
        else:
            ending.abandon(tenure, ending.reason_of(tenure.read_run(), error), Outcome.of(error), error.code)
        raise
    except LogGap:
        ending.release_or_lose(tenure)
        raise log_gap(tenure) from None
    except Retry:
        ending.release_or_lose(tenure)
        raise
    except (RefreshError, Interrupted, KeyboardInterrupt):
        ending.release_quietly(tenure)
        raise


def log_gap(tenure: Tenure) -> Retry:
    """The error when the target's log does not reach back far enough."""
    return Retry(
        "log_gap",
        f"commits that run {tenure.run_id} needs have been cleaned out of the target's log",
        left="Nothing was published; the target holds the chunks applied so far.",
        next=f"Run `airflow-refresh run {tenure.name}` again: this run is abandoned, a new one compares everything.",
    )


def _end(held: HeldRun, watch: Stopwatch, skipped: int) -> RunResult:
    tenure = held.tenure
    record, run = tenure.read()
    assert record.published is not None
    ended = result_of(record.name, run, record.published, held, skipped)
    elapsed, spent = run.elapsed(tenure.ports.clock.now()), spent_by(tenure, run)
    result = ended.model_copy(update={"attempts": run.attempts, "elapsed_seconds": elapsed, "spent": spent})
    behind, schedule = freshness.lag_seconds(tenure.ports, record), record.definition.refresh
    late = {"target_lag_seconds": schedule.target_lag_seconds, "late": is_late(schedule, behind)}
    result = result.model_copy(update={"lag_seconds": behind, **late})
    timed = result.model_copy(update={"seconds": watch.total(), "stages": dict(watch.stages)})
    run_ends.record_end(tenure.ports, tenure.name, run, tenure.generation, Outcome.SUCCEEDED, result=timed, spent=spent)
    with watch.stage("cleanup"):
        finish.clean_up(tenure, LastRun.succeeded(timed, tenure.ports.clock.now()))
    return result.model_copy(update={"seconds": watch.total(), "stages": watch.stages})
