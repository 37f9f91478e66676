"""Refreshes that are started from the page of this machine: each a process of the command line, ended with the page."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from pydantic import BaseModel, ValidationError

from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.options import to_arguments
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport, RefreshesResult
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.page.ports import Visitor
from airflow_refresh_provider.places import CONTROL_VARIABLE, SPARK_VARIABLE, Places

_PROGRAM = (sys.executable, "-m", "airflow_refresh_provider.cli.main", "run")
_QUEUED = "--queued"
_PATIENCE = 15.0
"""Seconds that a refresh has to release its run. One that is killed is resumed, too."""


class _Reported(BaseModel):
    """What the command line prints of an error."""

    error: ErrorReport


@dataclass
class _Child:
    process: subprocess.Popen[bytes]
    printed: IO[bytes]
    failure: ErrorReport | None = None


class ChildRuns:
    """The processes of one page. They report to the control tables, as any other; `program` is run for each."""

    def __init__(self, places: Places, environment: Mapping[str, str], program: tuple[str, ...] = _PROGRAM) -> None:
        self._environment = {**environment, CONTROL_VARIABLE: places.control, SPARK_VARIABLE: places.spark}
        self._program = program
        self._lock = threading.Lock()
        self._children: dict[str, _Child] = {}
        self._replaced: list[_Child] = []

    def __enter__(self) -> ChildRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End those that run: each interrupts its statement and releases its run."""
        with self._lock:
            every = (*self._children.values(), *self._replaced)
            running = [child.process for child in every if child.process.poll() is None]
        for process in running:
            process.terminate()
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            process.kill()

    def may_start(self, visitor: Visitor, name: str) -> bool:
        """Who has the address may do everything."""
        return True

    def start(self, visitor: Visitor, name: str, request: Request) -> RequestedRefresh:
        """Start a process. Raises Refused while one of this page runs for the definition, but for a take-over."""
        with self._lock:
            before = self._running(name)
            if before and not request.take_over:
                raise _runs_already(name, before.process.pid)
            if before:
                self._replaced.append(before)
            child = self._children[name] = self._started(name, to_arguments(request))
        return RequestedRefresh(name=name, started=f"process {child.process.pid}, which ends with this page")

    def waits_for(self, name: str, run: Run) -> bool:
        """A process waits for no run."""
        return False

    def follow(self, name: str) -> str:
        """Start a process that waits for the run in progress, unless one of this page runs, which goes on itself."""
        with self._lock:
            child = self._running(name)
            if child is None:
                child = self._children[name] = self._started(name, [_QUEUED])
        return f"process {child.process.pid}, which ends with this page, takes it then"

    def _running(self, name: str) -> _Child | None:
        child = self._children.get(name)
        return child if child and child.process.poll() is None else None

    def failure(self, name: str) -> ErrorReport | None:
        """The error that the last process for a definition has printed."""
        with self._lock:
            child = self._children.get(name)
            if child is None or not child.process.poll():
                return None
            child.failure = child.failure or _failure(child)
            return child.failure

    def _started(self, name: str, arguments: list[str]) -> _Child:
        words = [*self._program, name, *arguments, "--output", "json"]
        printed = tempfile.TemporaryFile()  # noqa: SIM115 - the process writes to it
        try:
            process = subprocess.Popen(
                words,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the page, which ends it
            )
        except OSError as error:
            printed.close()
            raise _not_started(name, error) from None
        return _Child(process, printed)


def _failure(child: _Child) -> ErrorReport:
    child.printed.seek(0)
    text = child.printed.read()
    child.printed.close()
    return _reported(text) or ErrorReport(
        code="child_ended",
        message=f"the process that was started from this page has ended with exit code {child.process.returncode}",
        left="Everything committed stays, and the run can be resumed.",
        next="Start it again; the debug log has more.",
    )


def _reported(text: bytes) -> ErrorReport | None:
    """The error of a refresh, or the first one of those that were queued."""
    with suppress(ValidationError):
        return _Reported.model_validate_json(text).error
    with suppress(ValidationError):
        return next((step.error for step in RefreshesResult.model_validate_json(text).refreshes if step.error), None)
    return None


def _runs_already(name: str, pid: int) -> Refused:
    return Refused(
        "already_running",
        f"a refresh of {name} was started from this page and is running: process {pid}",
        next=f"Wait for it, or cancel its run: `airflow-refresh cancel {name}`.",
    )


def _not_started(name: str, error: OSError) -> Failed:
    return Failed(
        "not_started",
        f"no process could be started for {name}: {error.strerror or os.strerror(error.errno or 0)}",
        left="Nothing was changed.",
        next=f"Run `airflow-refresh run {name}` in a terminal.",
    )
