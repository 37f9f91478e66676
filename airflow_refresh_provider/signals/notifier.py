"""A notifier that says of a refresh what a person has to know, through any other notifier.

Slack, e-mail and the like are notifiers of other providers, whose templates are rendered with what is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier

from airflow_refresh_provider.core.run.alert import Alert, of_failure, of_state
from airflow_refresh_provider.core.run.alert_reasons import About
from airflow_refresh_provider.errors import Explained, Retry
from airflow_refresh_provider.hooks.addresses import definition_path, in_airflow
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook

if TYPE_CHECKING:
    from airflow.sdk import Context

VARIABLE = "refresh"
"""The name of the alert in templates."""
_FAILED = frozenset({"failed", "up_for_retry"})


class RefreshNotifier(BaseNotifier):
    """Calls other notifiers where a refresh failed, or its table is suspended, late, or about to lose changes.

    In their templates `refresh` is the alert: `{{ refresh.text }}` is the whole message, `{{ refresh.title }}` one
    line. `about` narrows what is reported: `failure`, `suspension`, `lateness`, `retention`. `retention_below`: how
    long before changes of an input expire.
    """

    def __init__(
        self,
        *notifiers: Callable[[Context], Any],
        about: Collection[str] = tuple(About),
        retention_below: timedelta = timedelta(days=1),
    ) -> None:
        super().__init__()
        self.notifiers: Sequence[Callable[[Context], Any]] = notifiers
        self.about = frozenset(map(About, about))
        self.retention_below = retention_below

    @property
    def callbacks(self) -> dict[str, RefreshNotifier]:
        """It for every end of a task: `default_args` of a DAG, or arguments of an operator."""
        return dict.fromkeys(("on_failure_callback", "on_success_callback", "on_skipped_callback"), self)

    def notify(self, context: Context) -> None:
        """Look at the definition of the context's task, and report what there is to report."""
        task: Any = context.get("task") or context["ti"].task
        alert = self._alert(task, context)
        if alert is None or alert.about not in self.about:
            return
        if task.refresh_conn_id == RefreshHook.default_conn_name:
            alert = alert.model_copy(update={"page": in_airflow(definition_path(alert.name))})
        values: Any = {**context, VARIABLE: alert}
        for notifier in self.notifiers:
            copy(notifier)(values)  # it keeps what it has rendered

    def _alert(self, task: Any, context: Context) -> Alert | None:
        refreshes, name = RefreshHook(task.refresh_conn_id).refreshes(), task.definition_name
        failed, exception = context["ti"].state in _FAILED, context.get("exception")
        if failed and (error := _explained(exception)):
            return of_failure(refreshes.stored(name), error)
        if not failed and context["ti"].state == "success" and not getattr(task, "publishes", True):
            return None  # its refresh goes on
        found = of_state(refreshes.show(name), refreshes.ports.clock.now(), self.retention_below)
        return found if found or not failed else of_failure(refreshes.stored(name), _ended(task.task_id, exception))


def _explained(exception: object) -> Explained | None:
    """The error of this package that a task's exception stands for."""
    found = getattr(exception, "__context__", None)
    return found if isinstance(found, Explained) else None


def _ended(task_id: str, exception: object) -> Explained:
    """What is known of a task that was killed, timed out, or failed before its refresh started."""
    return Retry(
        "task_failed",
        f"the task {task_id} failed: {exception or 'it was killed'}",
        left="Everything committed stays, and a run in progress can be resumed.",
        next="Clear the task, or let the next DAG run resume it.",
    )
