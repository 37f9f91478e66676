"""The DAG of a definition: start, load, one merge task for each unit, finish, and a teardown that releases the run.

`finish` depends on `load` too: with an empty list of units the merge is one skipped task, and the run still has to end.
The teardown never publishes; an unfinished run is left for the next caller to resume.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zlib import crc32

from airflow.sdk import (
    DAG,
    Asset,
    AssetAny,
    AssetOrTimeSchedule,
    BaseOperator,
    CronTriggerTimetable,
    TaskGroup,
    TriggerRule,
)

from airflow_refresh_provider.assets import changes_asset, input_asset
from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.explanation import explanation_by_text
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.core.timing.cascade import bases, located, ordered
from airflow_refresh_provider.definition_files import PARSED_FOR
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.operators.pin_operator import RefreshPinOperator
from airflow_refresh_provider.operators.refresh_operators import (
    CleanupOperator,
    RefreshLoadOperator,
    RefreshOperator,
    RefreshReleaseOperator,
    RefreshStartOperator,
    VnodeMergeOperator,
)
from airflow_refresh_provider.task_context import binding
from airflow_refresh_provider.task_context.bundles import outside
from airflow_refresh_provider.task_context.trigger_form import trigger_form
from airflow_refresh_provider.views.explanation_lines import markdown

TASKS = ("start", "load", "merge", "finish", "release")
TaskArgs = Mapping[str, Mapping[str, Any]]
"""Task -> arguments of its operator, which outrank those of the DAG."""

_LONGEST_TAG = 100
"""Airflow takes no longer ones."""

_BEGINNING = datetime.fromisoformat("2024-01-01T00:00:00+00:00")


def refresh_dag(
    definition: Definition | Broken,
    *,
    schedule: Any = None,
    upstream: Mapping[str, Asset] | None = None,
    dag_id: str | None = None,
    refresh_conn_id: str = RefreshHook.default_conn_name,
    task_args: TaskArgs | None = None,
    default_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> DAG:
    """A DAG that keeps one definition's target fresh. `options` are those of DAG, and outrank what is set here.

    One run at a time, without catch-up: any run brings everything up to date. `schedule` is for definitions without a
    `refresh` of their own, which takes precedence over it. `upstream`: input -> its asset, for inputs that other DAGs
    keep fresh.
    `task_args`: task -> arguments of its operator, such as `{"merge": {"pool": "spark"}}`. For a broken file it makes a
    DAG without a schedule that shows the errors.
    Raises Invalid for a name in `upstream` that is no input, or in `task_args` that is no task.
    """
    definition = outside(definition)
    if isinstance(definition, Broken):
        return _broken_dag(definition, dag_id, default_args, options)
    _check_upstream(definition, upstream or {})
    inputs = {name: (upstream or {}).get(name) or _asset(definition, name) for name in definition.inputs}
    given: dict[str, Any] = {
        "tags": ["refresh", *(tag[:_LONGEST_TAG] for tag in definition.tags)],
        "description": definition.description or f"Keeps {definition.target} fresh",
        "doc_md": _doc(definition),
        "max_active_runs": 2 if definition.refresh.at_most_every else 1,  # one deferred for hours, one manual
    }
    when = schedule if definition.refresh.by_hand else _schedule(definition, inputs)
    owned = {"owner": definition.owner or "airflow"} | dict(default_args or {})
    with _dag(dag_id or f"refresh.{definition.name}", when, owned, given | options) as dag:
        inlets = [asset for asset in inputs.values() if asset]
        refresh_tasks(definition, refresh_conn_id, inlets=inlets, task_args=task_args)
    return dag


def refresh_group(
    definition: Definition | Broken,
    refresh_conn_id: str = RefreshHook.default_conn_name,
    *,
    group_id: str | None = None,
    task_args: TaskArgs | None = None,
    **options: Any,
) -> TaskGroup:
    """The same tasks as a group inside another DAG. `options` are those of TaskGroup, `task_args` as for a DAG."""
    with TaskGroup(group_id or _group_id(definition.name), **options) as group:
        refresh_tasks(definition, refresh_conn_id, task_args=task_args)
    return group


def cascade_dag(
    dag_id: str,
    definitions: Iterable[Definition | Broken],
    *,
    schedule: Any = None,
    refresh_conn_id: str = RefreshHook.default_conn_name,
    task_args: TaskArgs | None = None,
    default_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> DAG:
    """A DAG of definitions that feed each other, parents first. `options` are those of DAG, `task_args` of all groups.

    An input that is not a target of one of them is read at one version by all, pinned by the first task. A failure
    stops the definitions downstream; the others continue. Environment variables in paths of inputs are read where the
    DAG is parsed, too. Raises Invalid for a broken one: its place in the order is unknown.
    """
    found = [outside(definition) for definition in definitions]
    if broken := [one.error for one in found if isinstance(one, Broken)]:
        raise _together(broken)  # here: of an import error Airflow shows two frames, one should be in the DAG file
    given = {definition.name: definition for definition in found if isinstance(definition, Definition)}
    links = ordered(located(given.values(), os.environ))
    doc = _cascade_doc(given[link.definition.name] for link in links)
    with _dag(dag_id, schedule, default_args, {"tags": ["refresh"], "doc_md": doc} | options) as dag:
        reads = {place: read.model_dump(mode="json") for place, read in bases(links, given).items()}
        pinned = RefreshPinOperator(task_id="pin", reads=reads, refresh_conn_id=refresh_conn_id)
        finished: dict[str, BaseOperator] = {}
        for link in links:
            with TaskGroup(_group_id(link.definition.name)):
                start, finish = refresh_tasks(
                    given[link.definition.name], refresh_conn_id, pins=pinned.output, task_args=task_args
                )
            [finished[name] for name in link.upstream] >> start
            finished[link.definition.name] = finish
    return dag


def refresh_tasks(
    definition: Definition | Broken,
    refresh_conn_id: str,
    inlets: Sequence[Asset] = (),
    pins: Any = None,
    task_args: TaskArgs | None = None,
) -> tuple[BaseOperator, BaseOperator]:
    """The tasks of a phased refresh, in the current DAG or task group. Returns the first and the publishing one.

    The first one runs whether its upstream tasks succeeded or skipped. For a broken definition there is one task, which
    fails with the errors. Raises Invalid for a name in `task_args` that is no task.
    """
    _check_tasks(task_args or {})
    definition = outside(definition)
    if isinstance(definition, Broken):
        failing = RefreshOperator(task_id="broken", definition=definition, refresh_conn_id=refresh_conn_id)
        return failing, failing
    common: dict[str, Any] = {"definition": binding.stored(definition), "refresh_conn_id": refresh_conn_id}

    def args(task_id: str, **own: Any) -> dict[str, Any]:
        return {"task_id": task_id, **common, **own, **(task_args or {}).get(task_id, {})}

    # It fails in addition to the task that failed, whose callbacks have run.
    release = RefreshReleaseOperator(**args("release", on_failure_callback=None, email_on_failure=False))
    start = RefreshStartOperator(**args("start", inlets=list(inlets), pins=pins, trigger_rule=TriggerRule.NONE_FAILED))
    load = RefreshLoadOperator(**args("load"))
    unit = "unit {{ task.unit['unit'] }}"
    merge = VnodeMergeOperator.partial(**args("merge", map_index_template=unit)).expand(unit=load.output)
    finish = CleanupOperator(**args("finish", trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS))
    start >> load >> merge >> finish
    load >> finish >> release
    start >> release.as_teardown(setups=start, on_failure_fail_dagrun=True)
    return start, finish


def _dag(dag_id: str, schedule: Any, default_args: Mapping[str, Any] | None, options: Mapping[str, Any]) -> DAG:
    """A DAG with what all DAGs of refreshes have; `options` outrank that."""
    given: dict[str, Any] = {
        "start_date": _BEGINNING,
        "catchup": False,
        "max_active_runs": 1,
        "rerun_with_latest_version": True,  # a cleared DAG run must not register an old definition
        **options,
    }
    given["params"] = trigger_form() | dict(options.get("params") or {})
    return DAG(dag_id, schedule=schedule, default_args=configuration.retrying() | dict(default_args or {}), **given)


def _broken_dag(
    broken: Broken, dag_id: str | None, default_args: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> DAG:
    """A DAG that shows the errors of a file: in the list of DAGs, on its page, in its one task."""
    error = broken.error
    shown = {
        "tags": [*(options.get("tags") or ["refresh"]), "broken"],
        "description": f"{'; '.join(error.message.splitlines())}. {error.next}",
        "doc_md": f"### {broken.file} is broken\n\n```\n{error.message}\n```\n\n{error.left} {error.next}\n",
    }
    with _dag(dag_id or broken.name, None, default_args, {**options, **shown}) as dag:
        refresh_tasks(broken, RefreshHook.default_conn_name)
    return dag


def _together(errors: Sequence[Invalid]) -> Invalid:
    """One error with everything that is wrong in any of several definitions."""
    lines = "\n".join(error.message for error in errors)
    return Invalid(errors[0].code, lines, next=" ".join(dict.fromkeys(error.next for error in errors)))


def _group_id(name: str) -> str:
    """A name without the dots, which ids of groups must not have; two names never become one."""
    return name.replace(".", "-")


def _check_tasks(task_args: TaskArgs) -> None:
    if unknown := sorted(task_args.keys() - TASKS):
        raise Invalid(
            "unknown_task",
            f"unknown task {unknown[0]!r} in task_args.{suggestion(unknown[0], TASKS)}",
            next=f"Name some of {', '.join(TASKS)} in `task_args`.",
        )


def _check_upstream(definition: Definition, upstream: Mapping[str, Asset]) -> None:
    if unknown := sorted(upstream.keys() - definition.inputs.keys()):
        raise Invalid(
            "unknown_input",
            f"{definition.name} has no input {unknown[0]!r}, which upstream names."
            f"{suggestion(unknown[0], definition.inputs)}",
            next="Name inputs of the definition in `upstream`.",
        )


def _asset(definition: Definition, name: str) -> Asset | None:
    """The asset of an input; none where its path has an environment variable, known only where the refresh runs."""
    read, refresh = definition.inputs[name], definition.refresh
    watched = refresh.on_change and read.trigger and not read.ignore_changes
    if watched:
        return changes_asset(read)
    return input_asset(read) if "${" not in read.path else None


def _schedule(definition: Definition, inputs: Mapping[str, Asset | None]) -> Any:
    """The schedule of the definition as an Airflow timetable; with `on_change` by asset events and once an hour."""
    refresh = definition.refresh
    if not refresh.on_change:
        return refresh.cron or refresh.interval
    watched = [name for name, read in definition.inputs.items() if read.trigger and not read.ignore_changes]
    # An event is lost while the DAG is paused, or when the DAG run that it started fails.
    minute = crc32(definition.name.encode()) % 60
    hourly = CronTriggerTimetable(f"{minute} * * * *", timezone="UTC", run_immediately=True)
    commits = AssetAny(*(asset for name in watched if (asset := inputs[name])))
    return AssetOrTimeSchedule(timetable=hourly, assets=commits)


def _doc(definition: Definition) -> str:
    """The DAG's page: what is kept fresh, from what, and how."""
    inputs = "\n".join(f"| `{name}` | `{given.path}` |" for name, given in definition.inputs.items())
    return (
        f"### {definition.name}\n\n{definition.description or ''}\n\n"
        f"Keeps `{definition.target}` equal to\n\n```sql\n{definition.query_text.strip()}\n```\n\n"
        f"| input | path |\n|---|---|\n{inputs}\n\n"
        f"Keys: {', '.join(f'`{key}`' for key in definition.keys)}. Layout: {definition.layout.value}.\n"
        f"{_follows(definition)}"
    )


def _follows(definition: Definition) -> str:
    """How the changes of its inputs are followed; nothing while a task runs, which parses the file once more."""
    if os.environ.get(PARSED_FOR):
        return ""
    try:
        found = explanation_by_text(definition, definition.analyse_query(), advises=False)
    except Invalid:  # its first refresh says why
        return ""
    return (
        f"\n#### What happens when an input has changed\n\nMode: {definition.mode.value}.\n\n{markdown(found)}\n"
        f"`airflow-refresh explain {definition.name}` shows what the next refresh will do, and of the last one what "
        "was foreseen beside what happened.\n"
    )


def _cascade_doc(definitions: Iterable[Definition]) -> str:
    """The docs of a cascade's DAG: which definition reads what."""
    rows = (f"| `{d.name}` | {', '.join(f'`{i.path}`' for i in d.inputs.values())} |" for d in definitions)
    return "\n".join(["| definition | reads |", "|---|---|", *rows])
