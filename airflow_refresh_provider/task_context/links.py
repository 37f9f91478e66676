"""Links from a task to what it works on, shown beside its log: the refresh's result, and the asset of its target."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from airflow.sdk import BaseOperatorLink, conf


class RunLink(BaseOperatorLink):
    """The result of the refresh that a task belongs to: what its last task returned."""

    name = "Refresh run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page with rows, versions and seconds; the DAG run while there is no such task."""
        run = f"{_base()}/dags/{quote(ti_key.dag_id, safe='')}/runs/{quote(ti_key.run_id, safe='')}"
        last = _last_of_its_refresh(operator)
        return f"{run}/tasks/{quote(last, safe='')}/xcom" if last else run


class TargetLink(BaseOperatorLink):
    """The asset of the target: when it was updated, by what, and who reads it."""

    name = "Target"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page of assets, narrowed to the one that is named as the definition."""
        return f"{_base()}/assets?{urlencode({'name_pattern': operator.definition_name})}"


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


def _base() -> str:
    return str(conf.get("api", "base_url", fallback="")).rstrip("/")
