"""Performing one command: its function is imported and called, its result or its error is printed.

Only this module catches every exception and decides exit codes. While a command runs, what libraries print goes to
stderr: stdout is for the result.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow_refresh_provider.cli.bars import Bars
from airflow_refresh_provider.cli.call import Call, Composition, composed
from airflow_refresh_provider.cli.command import Command
from airflow_refresh_provider.cli.output import report, show
from airflow_refresh_provider.cli.signals import Interruptions
from airflow_refresh_provider.core.run.admin_results import Recovery
from airflow_refresh_provider.core.run.alert import Alerts
from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.core.run.options import from_values
from airflow_refresh_provider.core.run.reports import DueReport, Freshness
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult
from airflow_refresh_provider.errors import Cancelled, Defect, Explained, Interrupted, RefreshError, Refused

_NOT_DUE = 4
_NOT_FOLLOWED = 4
_NO_ALERT = 4

_log = logging.getLogger(__name__)


def perform(
    command: Command,
    control: str | None,
    spark: str | None,
    composition: Composition = composed,
    environment: Mapping[str, str] = os.environ,
    **options: Any,
) -> int:
    """Run a command of the table with all its options by parameter name; returns the exit code."""
    as_json = options.pop("output") == "json"
    bars = Bars(sys.stderr)
    call = Call(control, spark, bars, composition, environment)
    call.open_log(verbose=options.pop("verbose"))

    def act() -> Any:
        with bars:
            return _function(command)(call, **_parameters(command, options))

    ended, code = attempt(act, call.debug_log)
    return print_ended(ended, code, as_json=as_json)


def attempt(act: Callable[[], Any], log: Path) -> tuple[Any, int]:
    """The result of an act, or the error that it ended with, and the exit code. Raises nothing else."""
    interruptions = Interruptions()
    try:
        with interruptions, redirect_stdout(sys.stderr):
            return act(), 0
    except Interrupted as error:
        return error, interruptions.exit_code
    except KeyboardInterrupt:  # pyspark has its own handler for Ctrl-C
        return interruptions.error, interruptions.exit_code
    except RefreshError as error:
        if interruptions.came:  # py4j replaces an error that is raised while it waits
            return interruptions.error, interruptions.exit_code
        _log.debug("failed: %s", error.code, exc_info=error)
        return error, error.exit_code
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is no Exception
        _log.debug("defect", exc_info=error)
        defect = _defect(error, log)
        return defect, defect.exit_code


def print_ended(ended: Any, code: int, *, as_json: bool) -> int:
    """Print what `attempt` returned; returns the exit code, which is 1 if the result cannot be written."""
    if isinstance(ended, Explained):
        report(ended, as_json=as_json)
        return code
    return show(ended, as_json=as_json) or _code_of(ended) or code


def _code_of(ended: Any) -> int:
    """The exit code of a result."""
    match ended:
        case DueReport(due=False):
            return _NOT_DUE
        case Alerts(alerts=()):
            return _NO_ALERT
        case RefreshesResult(outcome=Outcome.FAILED):
            return RefreshError.exit_code
        case RefreshesResult(outcome=Outcome.REFUSED):
            return Refused.exit_code
        case RefreshesResult(outcome=Outcome.CANCELLED):
            return Cancelled.exit_code
        case list() if any(isinstance(one, DueReport | Freshness | Recovery) and one.error for one in ended):
            return RefreshError.exit_code
        case [Explanation(), *_] if any(one.broken for one in ended):
            return _NOT_FOLLOWED
        case [DueReport(), *_] if not any(report.due for report in ended):
            return _NOT_DUE
        case _:
            return 0


def _parameters(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the command's function."""
    own = {option.parameter: values[option.parameter] for option in command.own_options}
    return own if command.request is None else {**own, "request": from_values(command.request, values)}


def _function(command: Command) -> Callable[..., Any]:
    module, _, name = command.function.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _defect(error: BaseException, log: Path) -> Defect:
    first_line = (str(error).strip() or "no message").splitlines()[0]
    return Defect(
        "defect",
        f"{type(error).__name__}: {first_line}",
        left="Every commit that was made stays; an unfinished run can be resumed.",
        next=f"Report this with the debug log in {log}; running again is safe.",
    )
