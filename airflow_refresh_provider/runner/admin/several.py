"""Several refreshes in one process, side by side. Definitions that read each other's targets follow each other.

Each refresh is one by itself, as if it had a process of its own; a failure stops no other. When the process is asked to
stop, no session is opened any more, and the statements of those in progress are interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from graphlib import TopologicalSorter

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome, RefreshesResult, RefreshStep
from airflow_refresh_provider.core.timing.cascade import located, summary_of, upstream_first
from airflow_refresh_provider.errors import Interrupted, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import Engine, EngineSession
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.report.due_report import report_due
from airflow_refresh_provider.runner.report.observation import observe
from airflow_refresh_provider.runner.steps.one_process import refresh


def refresh_several(
    ports: Ports, definitions: Sequence[Definition], request: Request, *, due: bool = False
) -> RefreshesResult:
    """Refresh definitions, `request.workers` at a time; with `due` only those whose refresh is due now.

    Each applies its units one after the other. Raises Invalid where they read each other in a circle; the error of a
    refresh is in its step. Interrupted ends them all.
    """
    links = upstream_first(located(definitions, ports.environment))
    order = TopologicalSorter({link.definition.name: link.upstream for link in links})
    order.prepare()
    engine = _Sessions(ports.engine)
    own = replace(ports, engine=engine, watch=Silent())
    alone = request.model_copy(update={"workers": 1})
    steps: dict[str, RefreshStep] = {}
    ports.watch.stage("refresh", None, len(links))
    with ThreadPoolExecutor(request.workers, thread_name_prefix="refresh") as pool:
        running: dict[Future[RefreshStep], str] = {}
        try:
            while order.is_active():
                running |= {pool.submit(_step, own, name, alone, due=due): name for name in order.get_ready()}
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    name = running.pop(future)
                    steps[name] = future.result()
                    order.done(name)
                    ports.watch.advance(0)
                    ports.watch.note(_line(steps[name]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            engine.stop()
            raise
    return summary_of(steps[definition.name] for definition in definitions)


def _step(ports: Ports, name: str, request: Request, *, due: bool) -> RefreshStep:
    try:
        if due and (reason := _not_due(ports, name)):
            return RefreshStep(name=name, outcome=Outcome.NOTHING_TO_DO, reason=reason)
        result = refresh(ports, name, request)
    except RefreshError as error:
        outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.FAILED
        return RefreshStep(name=name, outcome=outcome, reason=error.message, error=ErrorReport.of(error))
    return RefreshStep(name=name, outcome=result.outcome, reason=result.reason, result=result)


def _not_due(ports: Ports, name: str) -> str | None:
    report = report_due(ports, observe(ports, registered(ports, name, ports.store.read(name).record)))
    return None if report.due else f"it is not due: {report.reason}"


def _line(step: RefreshStep) -> str:
    took = f" in {step.result.seconds:.1f} s" if step.result else ""
    return f"{step.name}: {step.outcome}{took}{f', {step.reason}' if step.reason else ''}"


class _Sessions:
    """An engine whose sessions can all be ended at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._opened: set[str] = set()
        self._stopped = False

    def open(self, session_id: str) -> EngineSession:
        """Open a session. Raises Interrupted after `stop`."""
        with self._lock:
            if self._stopped:
                raise Interrupted(
                    "interrupted",
                    "the process was asked to stop",
                    left="Everything committed stays, and the run can be resumed.",
                    next="Run the same command again.",
                )
            self._opened.add(session_id)
        return self._engine.open(session_id)

    def release(self, session_id: str) -> None:
        """Release a session."""
        self._engine.release(session_id)
        with self._lock:
            self._opened.discard(session_id)

    def stop(self) -> None:
        """Open no session any more, and end the statements of those that are open."""
        with self._lock:
            self._stopped, opened = True, tuple(self._opened)
        for session_id in opened:
            self._engine.release(session_id)
