"""Performing one command: its function is loaded and called, its answer or its error is printed.

This is the edge of the process: the only place that catches everything, and the one that decides exit codes.
While a command works, stdout is kept for its result: whatever libraries print goes to stderr.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow_refresh_provider.cli import debug_log
from airflow_refresh_provider.cli.bars import Bars
from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.cli.output import report, show
from airflow_refresh_provider.cli.signals import Interruptions
from airflow_refresh_provider.cli.table import Command
from airflow_refresh_provider.errors import Defect, Interrupted, RefreshError

_log = logging.getLogger(__name__)


def perform(command: Command, control: str | None, spark: str | None, **options: Any) -> int:
    """Run a command of the table with all its options by parameter name; returns the exit code."""
    as_json = options.pop("output") == "json"
    bars = Bars(sys.stderr)
    call = Call(control, spark, bars)
    debug_log.open_log(call.debug_log, verbose=options.pop("verbose"))
    interruptions = Interruptions()
    try:
        with interruptions, bars, redirect_stdout(sys.stderr):
            answer = _function(command)(call, **options)
        return show(answer, as_json=as_json)
    except Interrupted as error:
        report(error, as_json=as_json)
        return interruptions.exit_code
    except RefreshError as error:
        _log.debug("failed: %s", error.code, exc_info=error)
        return report(error, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - nothing is beyond this edge but a traceback on the user's screen
        _log.debug("defect", exc_info=error)
        return report(_defect(error, call.debug_log), as_json=as_json)


def _function(command: Command) -> Callable[..., Any]:
    module, _, name = command.does.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _defect(error: Exception, log: Path) -> Defect:
    first_line = (str(error).strip() or "no message").splitlines()[0]
    return Defect(
        "defect",
        f"{type(error).__name__}: {first_line}",
        left="Every commit that was made stays; an unfinished run can be resumed.",
        next=f"Report this with the debug log in {log}; running again is safe.",
    )
