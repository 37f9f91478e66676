"""What binds tasks of Airflow to the runner: context to request, ports, errors, logs and asset events.

Here and nowhere else it is known how Airflow names a DAG run, a task's log, a parameter of the trigger form.
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

from airflow_refresh_provider.assets import asset_of
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import asked_for
from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.core.run.recovery import OnInterrupted
from airflow_refresh_provider.core.run.request import IfRunning, Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.core.timing.due import Cause, is_late
from airflow_refresh_provider.errors import Explained, Failed, Interrupted, Invalid, RefreshError, Refused, Retry
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context import metrics
from airflow_refresh_provider.task_context.task_log import Log, TaskLog
from airflow_refresh_provider.task_context.trigger_form import check_values

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_refresh_provider.core.run.results import Differences
    from airflow_refresh_provider.ports.bundle import Ports

Stored = dict[str, Any] | str

_ENDED = ["success", "failed"]
_BROKEN = frozenset({"failed", "upstream_failed"})


def stored(definition: Definition | Mapping[str, Any] | str) -> Stored:
    """A definition as an argument that Airflow can serialise; a name stays a name. Raises Invalid.

    Its query is checked by whoever has made it, or else when it is registered: to load the SQL parser takes as long as
    many a task.
    """
    if isinstance(definition, str):
        return definition
    if not isinstance(definition, Definition):
        definition = Definition.unchecked(**definition)
    return definition.model_dump(mode="json", exclude_unset=True)


def register(ports: Ports, definition: Stored) -> None:
    """Store a definition that was given as a whole; one that is unchanged costs a look."""
    if not isinstance(definition, str):
        from airflow_refresh_provider.runner.refreshes import Refreshes

        Refreshes(ports).register(Definition.model_validate(definition))


class NotYet(Exception):
    """A scheduled refresh that has to wait; `moment` is when it may begin."""

    def __init__(self, moment: datetime, reason: str) -> None:
        super().__init__(reason)
        self.moment = moment


def check_due(context: Context, ports: Ports, name: str, *, cascaded: bool = False) -> None:
    """End a scheduled task whose refresh is not due: it skips, or raises NotYet. One by hand, or by force, always is.

    Changes that are younger than an interval are taken along: the DAG's own schedule has said that it is time. One
    that is part of a cascade waits for nothing, and is not skipped for being suspended: it would join old and new.
    """
    if not _scheduled(context) or context["params"].get("force"):
        return
    from airflow_refresh_provider.runner.refreshes import Refreshes

    refreshes = Refreshes(ports)
    try:
        report = refreshes.due(name)
    except (Invalid, Refused, Failed):
        return  # the refresh will fail with it, and count it
    schedule = refreshes.show(name).definition.refresh
    if report.cause == Cause.NOTHING_NEW:
        metrics.idle(name)
        raise AirflowSkipException(report.reason)
    if report.cause == Cause.SUSPENDED and not cascaded:
        metrics.suspended(name, report.lag_seconds, late=is_late(schedule, report.lag_seconds))
        raise AirflowSkipException(report.reason)
    if report.next_at is not None and not cascaded and schedule.on_change:
        raise NotYet(report.next_at, report.reason)


def published_before(context: Context, ports: Ports, name: str) -> RunResult | None:
    """What this DAG run has published of a definition, if that is still the newest: its event may have been lost."""
    from airflow_refresh_provider.runner.refreshes import Refreshes

    return Refreshes(ports).published_for(name, _origin(context))


def request(context: Context, pins: Mapping[str, Any] | None = None) -> Request:
    """What the trigger form, or the defaults of the DAG, ask for; made for this DAG run.

    `pins` is what a task has returned about inputs, by place.
    """
    check_values(context)
    params = context["params"]
    return Request(
        pins=dict(pins or {}),
        on_interrupted=OnInterrupted(params.get("on_interrupted", OnInterrupted.RESUME.value)),
        if_running=IfRunning(params.get("if_running", IfRunning.REFUSE)),
        mode=asked_for(params.get("mode")),
        force=params.get("force", False),
        origin=_origin(context),
        scheduled=_scheduled(context),
    )


def compare_only(context: Context) -> bool:
    """Whether only differences were asked for."""
    check_values(context)
    return bool(context["params"].get("compare_only", False))


def origin_of(dag_id: str, run_id: str) -> str:
    """The name of a DAG run among all Airflows that share a control root."""
    return f"{conf.get('api', 'base_url', fallback='')} {dag_id} {run_id}"


def ports(context: Context, refresh_conn_id: str, name: str, log: Log) -> Ports:
    """The composition that the connection names, watched by the task's log; `name` is the definition's."""
    ti = context["ti"]
    label = f"task {ti.dag_id}.{ti.task_id}, run {context['run_id']}, try {ti.try_number}, process {os.getpid()}"

    return RefreshHook(refresh_conn_id).refreshes(TaskLog(log, name), label, partial(_origin_status, ti)).ports


@contextmanager
def as_airflow_errors() -> Iterator[None]:
    """Errors as Airflow takes them: what may help if it is tried again, and what fails at once. Each is counted."""
    try:
        yield
    except (Retry, Interrupted) as error:
        _count(error)
        raise AirflowException(_told(error)) from None
    except RefreshError as error:
        _count(error)
        raise AirflowFailException(_told(error)) from None


def unfinished(name: str) -> AirflowFailException:
    """The failure of a teardown that found a run without an end."""
    return AirflowFailException(
        f"the refresh of {name} did not get to its end. It is left to be gone on with: "
        "clear the failed tasks, trigger the DAG again, or wait for its next run."
    )


def check_succeeded(context: Context, task_ids: Iterable[str], name: str) -> None:
    """Fail with the tasks that come before: a teardown that fails DAG runs is all that Airflow judges them by."""
    ti, run_id = context["ti"], context["run_id"]
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=sorted(task_ids), run_ids=[run_id]).get(run_id, {})
    if _BROKEN.intersection(states.values()):
        raise AirflowFailException(f"the refresh of {name} failed: the task that failed first says why")


def assets(definition: Stored) -> list[Asset]:
    """The asset of a definition's target, if its place is known when the DAG is parsed."""
    if isinstance(definition, str):
        return []
    return [asset_of(str(definition["name"]), str(definition["target"]))]


def announce(context: Context, outlets: Iterable[object], result: RunResult, log: Log) -> None:
    """Say what was refreshed: in the log, and beside the asset events that consumers read."""
    rows = result.rows
    metrics.ended(result)
    log.info(
        "version %s of %s is published: %s inserted, %s updated, %s deleted, %s unchanged; %s, %s in before",
        result.published_version,
        result.name,
        *(f"{n:,}" for n in (rows.inserted, rows.updated, rows.deleted, rows.unchanged)),
        counted(result.chunks.done, "chunk"),
        result.chunks.skipped,
    )
    extra: dict[str, Any] = {
        "run_id": result.run_id,
        "published_version": result.published_version,
        "input_versions": dict(result.input_versions),
        "mode": result.mode,
        "windows": {name: list(window) for name, window in result.windows.items()},
        "lag_seconds": result.lag_seconds,
        "late": result.late,
        "rows": rows.model_dump(),
    }
    for outlet in outlets:
        if isinstance(outlet, Asset) and outlet.name == result.name:
            context["outlet_events"][outlet].extra = extra


def needed(result: RunResult) -> RunResult:
    """The result of a refresh that had something to do. Raises AirflowSkipException for any other."""
    if result.state is Outcome.NOTHING_TO_DO:
        raise skip(result)
    return result


def skip(result: RunResult) -> AirflowSkipException:
    """The end of a task whose refresh was not needed."""
    metrics.ended(result)
    return AirflowSkipException(result.reason)


def show_differences(ports: Ports, name: str, log: Log) -> None:
    """Compare only, and log what differs."""
    from airflow_refresh_provider.runner.refreshes import Refreshes

    log_differences(Refreshes(ports).compare_only(name), log)


def log_differences(found: Differences, log: Log) -> None:
    """Log what a comparison found."""
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
    """What became of the DAG run of an origin; unknown is one of another Airflow.

    Only an Airflow that is told its own address from others can miss one of its DAG runs: it was deleted.
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
    """Count the error of a task that refreshes; sensors and other tasks have no refresh that could end."""
    with suppress(RuntimeError):  # where no task runs, as when an operator is tried out, there is nobody who counts
        if name := getattr(get_current_context()["task"], "definition_name", None):
            metrics.failed(name, error)


def _origin(context: Context) -> str:
    return origin_of(context["ti"].dag_id, context["run_id"])


def _scheduled(context: Context) -> bool:
    """Whether nobody has triggered the DAG run by hand."""
    return bool(context["dag_run"].run_type != "manual")


def _told(error: Explained) -> str:
    return f"{error.message}\nHow the data was left: {error.left}\nWhat to do: {error.next}"
