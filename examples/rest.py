"""Airflow's REST API, as far as the examples use it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

USER = "admin"
# An overloaded machine may be slow.
_PATIENCE_SECONDS = 120
_HEALTH_SECONDS = 10


@dataclass(frozen=True)
class TaskSeen:
    """A task instance: its name with what it is mapped to, its state, how often it was tried, its process."""

    task_id: str
    map_index: int
    name: str
    state: str
    tries: int
    pid: int | None


class Rest:
    """One Airflow, as its administrator. Raises httpx.HTTPError when it does not answer or refuses."""

    def __init__(self, url: str, password: str) -> None:
        # No proxy between two processes of this machine.
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=_PATIENCE_SECONDS)
        self._password = password

    def health(self) -> dict[str, str | None]:
        """The health of each component; empty while the API server does not answer."""
        try:
            answer = self.http.get("/api/v2/monitor/health", timeout=_HEALTH_SECONDS).raise_for_status().json()
        except httpx.HTTPError:
            return {}
        return {component: health["status"] for component, health in answer.items() if health}

    def log_in(self) -> None:
        """Get the token that all other calls need."""
        answer = self.http.post("/auth/token", json={"username": USER, "password": self._password})
        token = answer.raise_for_status().json()["access_token"]
        self.http.headers["Authorization"] = f"Bearer {token}"

    def dag_ids(self) -> set[str]:
        """The DAGs that were parsed so far."""
        return {dag["dag_id"] for dag in self._get("/dags")["dags"]}

    def import_errors(self) -> list[str]:
        """The import errors."""
        return [error["stack_trace"] for error in self._get("/importErrors")["import_errors"]]

    def set_connection(self, name: str, kind: str, extra: dict[str, str]) -> None:
        """Create or update a connection."""
        body = {"connection_id": name, "conn_type": kind, "extra": json.dumps(extra)}
        answer = self.http.patch(f"/api/v2/connections/{name}", json=body)
        if answer.status_code == httpx.codes.NOT_FOUND:
            answer = self.http.post("/api/v2/connections", json=body)
        answer.raise_for_status()

    def connection(self, name: str) -> Any:
        """A connection."""
        return self._get(f"/connections/{name}")

    def unpause(self, dag_id: str) -> None:
        """Unpause a DAG."""
        self._set_paused(dag_id, paused=False)

    def pause(self, dag_id: str) -> None:
        """Pause a DAG."""
        self._set_paused(dag_id, paused=True)

    def trigger(self, dag_id: str) -> str:
        """Trigger a DAG run and return its id."""
        answer = self.http.post(f"/api/v2/dags/{dag_id}/dagRuns", json={"logical_date": None, "conf": {}})
        return str(answer.raise_for_status().json()["dag_run_id"])

    def running(self) -> list[tuple[str, str]]:
        """The DAG and the id of every DAG run that has not ended."""
        found = self._get("/dags/~/dagRuns", state=["queued", "running"])["dag_runs"]
        return [(run["dag_id"], run["dag_run_id"]) for run in found]

    def fail(self, dag_id: str, run_id: str, note: str) -> None:
        """Mark a DAG run as failed, with the reason."""
        body = {"state": "failed", "note": note}
        self.http.patch(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}", json=body).raise_for_status()

    def state(self, dag_id: str, run_id: str) -> str:
        """The state of a DAG run."""
        return str(self._get(f"/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def tasks(self, dag_id: str, run_id: str) -> list[TaskSeen]:
        """The task instances of a DAG run."""
        found = self._get(f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return [
            TaskSeen(
                task_id=task["task_id"],
                map_index=task["map_index"],
                name=task["task_id"] if task["map_index"] < 0 else f"{task['task_id']}[{task['map_index']}]",
                state=task["state"] or "none",
                tries=task["try_number"],
                pid=task["pid"],
            )
            for task in found
        ]

    def returned(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> Any:
        """What a task instance returned."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        return self._get(path, map_index=map_index)["value"]

    def _set_paused(self, dag_id: str, *, paused: bool) -> None:
        self.http.patch(f"/api/v2/dags/{dag_id}", json={"is_paused": paused}).raise_for_status()

    def _get(self, path: str, **query: Any) -> Any:
        return self.http.get(f"/api/v2{path}", params=query).raise_for_status().json()
