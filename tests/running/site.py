"""A whole Airflow, its components as processes, and what a person does to it through its REST interface."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx

from examples.rest import Rest

PATIENCE = 240


def until(done: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something. Fails when it does not come."""
    limit = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < limit, f"{what} did not come within {seconds:.0f} s"
        time.sleep(0.3)


class Acts:
    """What can be done to DAG runs. Every act says what Airflow answered."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self._http = rest.http

    def trigger(self, dag_id: str, **conf: Any) -> httpx.Response:
        return self._http.post(f"/api/v2/dags/{dag_id}/dagRuns", json={"logical_date": None, "conf": conf})

    def clear(self, dag_id: str, run_id: str, task: str | list[object], *, downstream: bool) -> None:
        """Clear a task, or one index of it, and what follows."""
        body = {"dry_run": False, "dag_run_id": run_id, "task_ids": [task], "include_downstream": downstream}
        answer = self._http.post(
            f"/api/v2/dags/{dag_id}/clearTaskInstances", json={**body, "only_failed": False, "reset_dag_runs": True}
        )
        answer.raise_for_status()

    def clear_run(self, dag_id: str, run_id: str) -> None:
        body = {"dry_run": False, "only_failed": False}
        self._http.post(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/clear", json=body).raise_for_status()

    def mark_task(self, dag_id: str, run_id: str, task: str, map_index: int, state: str) -> None:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task}/{map_index}"
        self._http.patch(path, json={"new_state": state}).raise_for_status()

    def mark_run(self, dag_id: str, run_id: str, state: str) -> None:
        self._http.patch(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}", json={"state": state}).raise_for_status()

    def delete_run(self, dag_id: str, run_id: str) -> int:
        return self._http.delete(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}").status_code

    def backfill(self, dag_id: str, first: str, last: str) -> None:
        body = {"dag_id": dag_id, "from_date": first, "to_date": last, "max_active_runs": 1}
        self._http.post("/api/v2/backfills", json=body).raise_for_status()

    def runs(self, dag_id: str) -> dict[str, str]:
        """The states of all runs of a DAG."""
        found = self._http.get(f"/api/v2/dags/{dag_id}/dagRuns", params={"limit": 50}).raise_for_status().json()
        return {run["dag_run_id"]: run["state"] for run in found["dag_runs"]}

    def due_at(self, dag_id: str, run_id: str) -> datetime:
        """When a DAG run was to begin."""
        found = self._http.get(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}").raise_for_status().json()
        return datetime.fromisoformat(found["run_after"])

    def log(self, dag_id: str, run_id: str, task: str, try_number: int, map_index: int = -1) -> str:
        """All that a task wrote in one of its tries."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task}/logs/{try_number}"
        answer = self._http.get(path, params={"map_index": map_index}, headers={"Accept": "application/json"})
        return json.dumps(answer.raise_for_status().json())
