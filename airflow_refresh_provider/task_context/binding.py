"""Binds Airflow tasks to the runner: context to request, ports, errors, logs and asset events.

Only this module knows how Airflow names a DAG run, a task's log, a parameter of the trigger form.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, conf, get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowRuntimeError, AirflowSkipException
from pydantic import TypeAdapter

from airflow_refresh_provider.assets import asset_of
from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.as_written import located
from airflow_refresh_provider.core.run.options import validated
from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.core.timing.due import Cause, is_late
from airflow_refresh_provider.errors import (
    ALREADY_RUNNING,
    Explained,
    Failed,
    Interrupted,
    Invalid,
    RefreshError,
    Refused,
    Retry,
)
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.signals import metrics
from airflow_refresh_provider.task_context.task_log import Log, TaskLog
from airflow_refresh_provider.task_context.trigger_form import form_values
from airflow_refresh_provider.views.sentences import refreshed

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_refresh_provider.core.run.results import Differences
    from airflow_refresh_provider.ports.bundle import Ports

Stored = dict[str, Any] | str

_ENDED = ["success", "failed"]
_BROKEN = frozenset({"failed", "upstream_failed"})
NOTE = "refresh"
"""The key of the XCom that says in one line how the refresh went."""


def stored(definition: Definition | Mapping[str, Any] | str) -> Stored:
    """A definition as an argument that Airflow can serialize; a name stays a name. Raises Invalid.

    Its query was checked when the definition was built, or is checked at registration: loading the SQL parser here
    would slow down DAG parsing.
    """
    if isinstance(definition, str):
        return definition
    if not isinstance(definition, Definition):
        definition = Definition.unchecked(**definition)
    return definition.model_dump(mode="json", exclude_unset=True)


def name_of(definition: Stored) -> str:
    """The name under which a definition is registered."""
    return definition if isinstance(definition, str) else str(definition["name"])


def register(ports: Ports, definition: Stored) -> None:
    """Register a definition that was given as a whole; for an unchanged one this is one read."""
    if not isinstance(definition, str):
        from airflow_refresh_provider.runner.refreshes import Refreshes

        Refreshes(ports).register(Definition.model_validate(definition))


class DeferUntil(Exception):
    """A scheduled refresh that has to be deferred; `moment` is when it may start."""

    def __init__(self, moment: datetime, reason: str) -> None:
        super().__init__(reason)
        self.moment = moment


def check_due(context: Context, ports: Ports, name: str, *, cascaded: bool = False) -> None:
    """End a scheduled task whose refresh is not due: it skips, or raises DeferUntil. Manual and forced runs are due.

    Changes younger than an interval are applied too: the DAG's own schedule decides when. A refresh in a cascade is
    neither deferred nor skipped for being suspended: its children would join old and new.
    """
    if not _scheduled(context) or context["params"].get("force"):
        return
    from airflow_refresh_provider.runner.refreshes import Refreshes

    refreshes = Refreshes(ports)
    try:
        report = refreshes.due(name)
    except (Invalid, Refused, Failed):
        return  # the refresh fails with it, and counts it
    schedule, lag = refreshes.stored(name).definition.refresh, report.lag_seconds
    metrics.behind(name, lag, schedule.target_lag_seconds, late=is_late(schedule, lag))
    metrics.retention(name, report.kept_until - ports.clock.now() if report.kept_until else None)
    if report.cause == Cause.NOTHING_NEW:
        metrics.skipped(name, Outcome.NOTHING_TO_DO)
        raise AirflowSkipException(report.reason)
    if report.cause == Cause.SUSPENDED and not cascaded:
        metrics.skipped(name, Outcome.SKIPPED)
        raise AirflowSkipException(report.reason)
    if report.next_at is not None and not cascaded and schedule.on_change:
        raise DeferUntil(report.next_at, report.reason)


def published_before(context: Context, ports: Ports, name: str) -> RunResult | None:
    """What this DAG run has published, if that is still the newest version: its asset event may have been lost."""
    from airflow_refresh_provider.runner.refreshes import Refreshes

    return Refreshes(ports).published_for(name, _origin(context))


def own_run(context: Context, ports: Ports, name: str) -> str | None:
    """The id of the run in progress, if it was started for this DAG run."""
    from airflow_refresh_provider.runner.refreshes import Refreshes

    run = Refreshes(ports).stored(name).run
    return run.run_id if run and run.origin == _origin(context) else None


def request(context: Context, pins: Mapping[str, Any] | None = None) -> RunRequest:
    """The request of this DAG run, from the trigger form or the defaults of the DAG.

    `pins` is what a RefreshPinOperator has returned. Raises Invalid.
    """
    found = [located(pin, os.environ) for pin in TypeAdapter(VersionVector).validate_python(pins or {}).values()]
    by_place = {pin.location: pin for pin in found}
    own = {"pins": by_place, "origin": _origin(context), "scheduled": _scheduled(context)}
    return validated(RunRequest, form_values(context) | own)


def origin_of(dag_id: str, run_id: str) -> str:
    """The name of a DAG run, unique among all Airflows that share a control root."""
    return f"{conf.get('api', 'base_url', fallback='')} {dag_id} {run_id}"


def ports(context: Context, refresh_conn_id: str, name: str, log: Log) -> Ports:
    """The ports of the connection's control root, watched by the task's log; `name` is the definition's."""
    ti = context["ti"]
    label = f"task {ti.dag_id}.{ti.task_id}, run {context['run_id']}, try {ti.try_number}, process {os.getpid()}"

    return RefreshHook(refresh_conn_id).refreshes(TaskLog(log, name), label, partial(_origin_status, ti)).ports


@contextmanager
def as_airflow_errors() -> Iterator[None]:
    """Errors as Airflow's: AirflowException where a retry may help, AirflowFailException otherwise. Each is counted."""
    try:
        yield
    except (Retry, Interrupted) as error:
        _count(error)
        raise AirflowException(_message(error)) from None
    except RefreshError as error:
        _count(error)
        # The other run ends, perhaps while Airflow waits to retry.
        kind = AirflowException if error.code == ALREADY_RUNNING else AirflowFailException
        raise kind(_message(error)) from None


def unfinished(context: Context, name: str, *, kept: bool) -> AirflowFailException:
    """The failure of a teardown that found an unfinished run, naming the tasks that failed. `kept`: to be resumed."""
    first = _first_failures(context)
    if not kept:
        return AirflowFailException(
            f"the refresh of {name} failed, and its run was abandoned{first}: fix the cause; the next DAG run starts a "
            "new one."
        )
    return AirflowFailException(
        f"the refresh of {name} is unfinished and can be resumed{first}: "
        "clear the failed tasks, trigger the DAG again, or wait for its next run."
    )


def check_succeeded(context: Context, task_ids: Iterable[str], name: str) -> None:
    """Fail if an upstream task failed: the teardown with `on_failure_fail_dagrun` alone decides the DAG run's state."""
    if _BROKEN.intersection(_states(context, task_ids).values()):
        raise AirflowFailException(f"the refresh of {name} failed{_first_failures(context)}")


def _first_failures(context: Context) -> str:
    """Which tasks have failed of all those upstream, mapped ones with their number: their logs have the reason."""
    above: set[str] = set()
    level = [context["task"]]
    while level:
        level = [task for one in level for task in one.get_direct_relatives(upstream=True) if task.task_id not in above]
        above |= {task.task_id for task in level}
    failed = [task_id for task_id, state in _states(context, above).items() if state == "failed"]
    return f" (see the log of {' and '.join(sorted(failed))}, which failed first)" if failed else ""


def _states(context: Context, task_ids: Iterable[str]) -> dict[str, str]:
    ti, run_id = context["ti"], context["run_id"]
    found = ti.get_task_states(dag_id=ti.dag_id, task_ids=sorted(task_ids), run_ids=[run_id])
    return dict(found.get(run_id, {}))


def assets(definition: Stored) -> list[Asset]:
    """The asset of a definition's target, if its location is known when the DAG is parsed."""
    if isinstance(definition, str):
        return []
    return [asset_of(str(definition["name"]), str(definition["target"]))]


def note(context: Context, line: str) -> None:
    """Leave a line about the refresh with the DAG run.

    The task SDK has no way to set the note of a DAG run, and a task has no token for the public API; what a task can
    leave is an XCom.
    """
    context["ti"].xcom_push(key=NOTE, value=line)


def announce(context: Context, outlets: Iterable[object], result: RunResult, log: Log) -> None:
    """Report what was refreshed: in the log, as the note of the task, and as the extra of the asset event."""
    rows = result.rows
    metrics.ended(result)
    log.info(
        "version %s of %s is published: %s inserted, %s updated, %s deleted, %s unchanged; %s, %s committed by earlier "
        "attempts",
        result.published_version,
        result.name,
        *(f"{n:,}" for n in (rows.inserted, rows.updated, rows.deleted, rows.unchanged)),
        counted(result.chunks.done, "chunk"),
        result.chunks.skipped,
    )
    line = refreshed(result)
    log.info("%s", line)
    note(context, line)
    extra: dict[str, Any] = {
        "run_id": result.run_id,
        "published_version": result.published_version,
        "input_versions": dict(result.input_versions),
        "mode": result.mode,
        "requested_mode": result.requested_mode,
        "mode_code": result.mode_code,
        "mode_reason": result.mode_reason,
        **result.estimates.model_dump(),
        "windows": {name: list(window) for name, window in result.windows.items()},
        "lag_seconds": result.lag_seconds,
        "late": result.late,
        "rows": rows.model_dump(),
    }
    for outlet in outlets:
        if isinstance(outlet, Asset) and outlet.name == result.name:
            context["outlet_events"][outlet].extra = extra


def result_or_skip(result: RunResult) -> RunResult:
    """The result of a refresh that was published. Raises AirflowSkipException when there was nothing to do, it was
    skipped or queued, or its budget is spent.
    """
    if result.outcome in (Outcome.NOTHING_TO_DO, Outcome.SKIPPED, Outcome.QUEUED, Outcome.BUDGET_SPENT):
        raise skip(result)
    return result


def skip(result: RunResult) -> AirflowSkipException:
    """The exception of a task that publishes nothing, and has not failed."""
    metrics.ended(result)
    return AirflowSkipException(result.reason)


def show_differences(ports: Ports, name: str, log: Log) -> None:
    """Compare, and log the differences."""
    from airflow_refresh_provider.runner.refreshes import Refreshes

    log_differences(Refreshes(ports).compare_only(name), log)


def log_differences(found: Differences, log: Log) -> None:
    """Log the result of a comparison."""
    rows = found.rows
    log.info(
        "%s %s its query: %s to insert, %s to update, %s to delete, %s equal",
        found.target,
        "differs from" if rows.inserted + rows.updated + rows.deleted else "equals",
        *(f"{n:,}" for n in (rows.inserted, rows.updated, rows.deleted, rows.unchanged)),
    )
    for sample in found.samples:
        log.info("%s: %s", sample.op, sample.model_dump_json(exclude={"op"}))


def _origin_status(ti: Any, origin: str) -> OriginStatus:
    """The status of the DAG run of an origin; unknown for one of another Airflow.

    Only where `[api] base_url` identifies this Airflow does a DAG run that it does not know count as deleted.
    """
    base_url, _, rest = origin.partition(" ")
    dag_id, _, run_id = rest.partition(" ")
    if origin_of(dag_id, run_id) != origin:
        return OriginStatus.UNKNOWN
    try:
        if ti.get_dr_count(dag_id=dag_id, run_ids=[run_id], states=_ENDED):
            return OriginStatus.FINISHED
        there = not base_url or ti.get_dr_count(dag_id=dag_id, run_ids=[run_id])
    except AirflowRuntimeError:
        return OriginStatus.UNKNOWN
    return OriginStatus.UNKNOWN if there else OriginStatus.DELETED


def _count(error: RefreshError | Interrupted) -> None:
    """Count the error of a refresh task; sensors have no refresh that could end."""
    with suppress(RuntimeError):  # outside of a task there are no metrics
        if name := getattr(get_current_context()["task"], "definition_name", None):
            metrics.failed(name, error)


def _origin(context: Context) -> str:
    return origin_of(context["ti"].dag_id, context["run_id"])


def _scheduled(context: Context) -> bool:
    """Whether the DAG run was not triggered manually."""
    return bool(context["dag_run"].run_type != "manual")


def _message(error: Explained) -> str:
    return f"{error.message}\nHow the data was left: {error.left}\nWhat to do: {error.next}"
