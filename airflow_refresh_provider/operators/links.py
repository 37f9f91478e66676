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
        last = [t.task_id for t in (operator, *operator.get_flat_relatives(upstream=False)) if _publishes(t)]
        return f"{run}/tasks/{quote(last[0], safe='')}/xcom" if last else run


class TargetLink(BaseOperatorLink):
    """The asset of the target: when it was updated, by what, and who reads it."""

    name = "Target"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page of assets, narrowed to the one that is named as the definition."""
        return f"{_base()}/assets?{urlencode({'name_pattern': operator.definition_name})}"


def _publishes(operator: Any) -> bool:
    """Whether an operator, mapped or not, says of itself that it returns the result of a whole refresh."""
    return bool(getattr(getattr(operator, "operator_class", operator), "publishes", False))


def _base() -> str:
    return str(conf.get("api", "base_url", fallback="")).rstrip("/")
