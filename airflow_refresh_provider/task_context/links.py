"""Links from a task to what it works on, shown with its details: the run of its refresh, and the definition.

Airflow asks for a link when the task has ended, and shows it then. The page reads the control tables of one connection.
Tasks with another one link to what Airflow itself has: the result of the refresh, and the asset of the target.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from airflow.sdk import BaseOperatorLink

from airflow_refresh_provider.hooks.addresses import base_url, dag_run_path, definition_path, in_airflow
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook


class RunLink(BaseOperatorLink):
    """The run that a task works on: phases, chunks, rows, what failed."""

    name = "Refresh run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page that leads to the run, which is looked up there: a task that failed may not know it."""
        if _on_the_page(operator):
            return in_airflow(dag_run_path(ti_key.dag_id, ti_key.run_id, operator.definition_name))
        run = f"{base_url()}/dags/{quote(ti_key.dag_id, safe='')}/runs/{quote(ti_key.run_id, safe='')}"
        last = _last_of_its_refresh(operator)
        return f"{run}/tasks/{quote(last, safe='')}/xcom" if last else run


class TargetLink(BaseOperatorLink):
    """The target: how it is, why it is late, its runs, how it is read."""

    name = "Target"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page of the definition."""
        if _on_the_page(operator):
            return in_airflow(definition_path(operator.definition_name))
        return f"{base_url()}/assets?{urlencode({'name_pattern': operator.definition_name})}"


def _on_the_page(operator: Any) -> bool:
    return bool(operator.refresh_conn_id == RefreshHook.default_conn_name)


def _last_of_its_refresh(operator: Any) -> str | None:
    """The nearest task downstream, or this one, that returns the result of a whole refresh."""
    seen: set[str] = set()
    level = [operator]
    while level:
        if found := sorted(str(task.task_id) for task in level if _publishes(task)):
            return found[0]
        seen |= {task.task_id for task in level}
        following = {t.task_id: t for task in level for t in task.get_direct_relatives(upstream=False)}
        level = [task for task_id, task in following.items() if task_id not in seen]
    return None


def _publishes(operator: Any) -> bool:
    """Whether an operator, mapped or not, says of itself that it returns the result of a whole refresh."""
    return bool(getattr(getattr(operator, "operator_class", operator), "publishes", False))
