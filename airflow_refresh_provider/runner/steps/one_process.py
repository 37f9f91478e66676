"""One refresh from start to end in this process: the phases in order, and what becomes of the run when one fails.

Before staging is frozen, a failure that running again cannot mend gives the run up. Afterwards the run is always kept,
released so that the next caller resumes it at once. An owner who has lost touches nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Step
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ChunkCounts, Outcome, Rows, RunResult
from airflow_refresh_provider.core.timing.due import is_late
from airflow_refresh_provider.errors import Failed, Interrupted, Invalid, Lost, RefreshError, Refused, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.report import freshness
from airflow_refresh_provider.runner.steps import finish, load, merge
from airflow_refresh_provider.runner.steps.start import NothingToDo, begin

Work = Callable[[Tenure, EngineSession, Request, Stopwatch], int]
"""What is done with a run that is held; returns how many chunks were already in."""


def refresh(ports: Ports, name: str, request: Request) -> RunResult:
    """Bring a definition's target up to its query. Raises errors.*; see the module for what they leave behind."""
    watch = Stopwatch(ports.clock)
    with watch.stage("start"):
        begun = begin(ports, name, request)
    if isinstance(begun, NothingToDo):
        return nothing(begun, watch)
    return carry_on(begun, request, watch, begun.decision.step if begun.decision else Step.RESUME)


def carry_on(taken: HeldRun, request: Request, watch: Stopwatch, step: Step, work: Work | None = None) -> RunResult:
    """What the step asks for of a run that is held; `work` is what there is to do for one that is not sealed yet."""
    tenure = taken.tenure
    skipped = 0
    if step is not Step.RESUME and not tenure.read_record().definition.view:
        return _end_without_spark(taken, step, watch)
    with keep_or_abandon(tenure), working(taken, watch) as session:
        if step is Step.PUBLISH:
            finish.publish_sealed(tenure)
        elif step is Step.RESUME:
            skipped = (work or _load_merge_and_end)(tenure, session, request, watch)
        trouble = finish.show(tenure, session)
        result = _end(taken, watch, skipped)
    if trouble:
        raise trouble
    return result


def _end_without_spark(taken: HeldRun, step: Step, watch: Stopwatch) -> RunResult:
    """What is left of a run that is sealed or published is a matter of the control tables."""
    if step is Step.PUBLISH:
        with keep_or_abandon(taken.tenure), watch.stage("publish"):
            finish.publish_sealed(taken.tenure)
    return _end(taken, watch, skipped=0)


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
def working(taken: HeldRun, watch: Stopwatch) -> Iterator[EngineSession]:
    """The run's Spark session, and signs of life, for as long as the work lasts."""
    tenure, ports = taken.tenure, taken.tenure.ports
    session_id = tenure.read_run().lease.session
    assert session_id is not None
    with ports.heart.beating(tenure.name, tenure.run_id, None, tenure.generation):
        with watch.stage("connect"):
            session = taken.session or ports.engine.open(session_id)
        try:
            yield session
        except Interrupted:
            ports.engine.release(session_id)
            raise
        finally:
            session.close()


@contextmanager
def keep_or_abandon(tenure: Tenure) -> Iterator[None]:
    """What becomes of a run when the work on it fails; see the module."""
    try:
        yield
    except Lost:
        raise
    except (Invalid, Refused, Failed) as error:
        if ending.must_be_kept(tenure, error):
            ending.note_failure(tenure, error)
            ending.release_quietly(tenure)
        else:
            refused = isinstance(error, Refused)
            ending.abandon(tenure, error.message, Outcome.REFUSED if refused else Outcome.FAILED)
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
    """The error of whoever cannot look back far enough in the target's log."""
    return Retry(
        "log_gap",
        f"commits that run {tenure.run_id} has to look back to have been cleaned out of the target's log",
        left="Nothing was published; the target holds the chunks applied so far.",
        next=f"Run `airflow-refresh run {tenure.name}` again: this run is given up, a new one compares everything.",
    )


def _end(taken: HeldRun, watch: Stopwatch, skipped: int) -> RunResult:
    tenure = taken.tenure
    record = tenure.read_record()
    assert record.run is not None
    result = _result(record, record.run, taken, skipped)
    behind = freshness.lag_seconds(tenure.ports, record)
    result = result.model_copy(update={"lag_seconds": behind, "late": is_late(record.definition.refresh, behind)})
    timed = result.model_copy(update={"seconds": watch.total(), "stages": dict(watch.stages)})
    ending.ended(tenure.ports, tenure.name, tenure.run_id, tenure.generation, Outcome.SUCCEEDED, result=timed)
    with watch.stage("cleanup"):
        finish.clean_up(tenure)
    return result.model_copy(update={"seconds": watch.total(), "stages": watch.stages})


def _result(record: Record, run: Run, taken: HeldRun, skipped: int) -> RunResult:
    assert record.published is not None
    rounds = run.frozen.rounds if run.frozen else ()
    fell_back = run.frozen.fell_back if run.frozen else None
    return RunResult(
        run_id=run.run_id,
        name=record.name,
        outcome=Outcome.SUCCEEDED,
        mode=(Mode.INCREMENTAL if run.windows else Mode.FULL).value,
        mode_reason=fell_back or run.plan.scope,
        generation=run.generation,
        resumed=taken.resumed,
        rows=Rows(
            inserted=run.counts.inserted,
            updated=run.counts.updated,
            deleted=run.counts.deleted,
            unchanged=run.frozen.unchanged if run.frozen else 0,
        ),
        chunks=ChunkCounts(done=sum(len(u.chunks) for r in rounds for u in r.units), skipped=skipped),
        input_versions=digests(run.plan.pins),
        windows={name: (window.after, window.upto) for name, window in run.windows.items()},
        target_version=record.published.seal_version,
        published_version=record.published.version,
        reason=taken.decision.reason if taken.decision else None,
    )


def nothing(begun: NothingToDo, watch: Stopwatch) -> RunResult:
    """The result of a refresh that was not needed."""
    record = begun.record
    published = record.published
    return RunResult(
        run_id=published.run_id if published else None,
        name=record.name,
        outcome=Outcome.NOTHING_TO_DO,
        generation=record.generation,
        input_versions=digests(published.pins) if published else {},
        target_version=published.seal_version if published else None,
        published_version=published.version if published else None,
        seconds=watch.total(),
        stages=watch.stages,
        reason=begun.reason,
    )
