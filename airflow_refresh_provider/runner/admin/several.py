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
from airflow_refresh_provider.core.run.request import Request, Serves
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult, RefreshStep
from airflow_refresh_provider.core.timing.cascade import located, summary_of, upstream_first
from airflow_refresh_provider.errors import Interrupted, RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import Engine, EngineSession
from airflow_refresh_provider.ports.read_once import inputs_read_once, tables_kept_open
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.report.due_report import report_due
from airflow_refresh_provider.runner.report.observation import observe
from airflow_refresh_provider.runner.steps.one_process import refresh
from airflow_refresh_provider.runner.steps.start import Decided


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
    stopping = threading.Event()
    engines = {link.definition.name: _OwnEngine(ports.engine, stopping) for link in links}
    alone = request.model_copy(update={"workers": 1})
    steps: dict[str, RefreshStep] = {}

    def work(name: str) -> RefreshStep:
        try:
            return _step(replace(ports, engine=engines[name], watch=Silent()), name, alone, due=due)
        finally:
            engines[name].ended()

    ports.watch.stage("refresh", None, len(links), part="definition")
    with ThreadPoolExecutor(request.workers, thread_name_prefix="refresh") as pool:
        running: dict[Future[RefreshStep], str] = {}
        try:
            while order.is_active():
                running |= {pool.submit(work, name): name for name in order.get_ready()}
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    name = running.pop(future)
                    steps[name] = future.result()
                    order.done(name)
                    ports.watch.advance(0)
                    ports.watch.note(steps[name].line)
        finally:
            if order.is_active():  # the process is asked to stop
                pool.shutdown(wait=False, cancel_futures=True)
                stopping.set()
                for engine in engines.values():
                    engine.end_statements()
    return summary_of(steps[definition.name] for definition in definitions)


def _step(ports: Ports, name: str, request: Request, *, due: bool) -> RefreshStep:
    try:
        return _refresh_if_due(ports, name, request) if due else RefreshStep.of(name, refresh(ports, name, request))
    except RefreshError as error:
        return RefreshStep.of(name, error)


def _refresh_if_due(ports: Ports, name: str, request: Request) -> RefreshStep:
    once = inputs_read_once(tables_kept_open(ports))
    record = registered(ports, name, ports.store.read(name).record)
    report = report_due(ports, observe(once, record))
    if not report.due:
        return RefreshStep(name=name, outcome=Outcome.NOTHING_TO_DO, reason=f"it is not due: {report.reason}")
    first = request.model_copy(update={"waiting": Serves.FIRST})
    return RefreshStep.of(name, refresh(ports, name, first, Decided(record, once.inputs)))


class _OwnEngine:
    """The engine of one refresh, whose statements others can end. After `stopping` it opens no session."""

    def __init__(self, engine: Engine, stopping: threading.Event) -> None:
        self._engine = engine
        self._stopping = stopping
        self._opened: list[str] = []

    def open(self, session_id: str) -> EngineSession:
        """Open a session. Raises Interrupted once the process is asked to stop."""
        self._opened.append(session_id)  # first: a stop that comes after the check finds it, and it cannot be opened
        if self._stopping.is_set():
            raise Interrupted(
                "interrupted",
                "the process was asked to stop",
                left="Everything committed stays, and the run can be resumed.",
                next="Run the same command again.",
            )
        return self._engine.open(session_id)

    def release(self, session_id: str) -> None:
        """Release a session."""
        self._engine.release(session_id)

    def ended(self) -> None:
        """The refresh has ended, and with it its sessions."""
        self._opened.clear()

    def end_statements(self) -> None:
        """End the statements of the refresh."""
        for session_id in tuple(self._opened):
            self._engine.release(session_id)
