"""One definition with a lake, a control root and a DAG of its own, in an Airflow that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import write_deltalake

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from examples.local_airflow import LocalAirflow
from examples.rest import TaskSeen
from tests.reading import Seen, read
from tests.running.holding import CHUNK, FAIL, hold_file
from tests.running.site import Acts, until

ROOT = Path(__file__).parents[2]
ENDED = ("success", "failed")
ROWS = 12
"""Of the nine that change three each are in two units, two and one in the others. More than two are cut into chunks."""
_SMALL = {"one_commit_up_to": 1, "chunk_rows": 1}
_DAG_FILE = """
import sys
sys.path.insert(0, {root!r})
from datetime import datetime, timedelta
from airflow.sdk import DAG
from airflow_refresh_provider import Definition, refresh_dag
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
from tests.running.holding import obey

obey({folder!r})
definition = Definition.model_validate({definition!r})
for dag_id in {dag_ids!r}:
    {tasks}
"""
PHASED = "refresh_dag(definition, dag_id=dag_id, refresh_conn_id={connection!r}, {options})"
ONE_TASK = """with DAG(dag_id, {options}):
        RefreshOperator(task_id="refresh", definition=definition, refresh_conn_id={connection!r})
"""
"""Instead of a phased refresh."""


class Table:
    """Four units of vnodes: two of three chunks each, two of a single one."""

    def __init__(
        self,
        airflow: LocalAirflow,
        dags: Path,
        folder: Path,
        spark: str,
        *,
        connection: str | None = None,
        rows: int = ROWS,
    ) -> None:
        """`connection`: the one to its control tables; else it has one of its own. `rows`: with more than usual every
        unit has many chunks.
        """
        self.airflow = airflow
        self.acts = Acts(airflow.rest)
        self.folder = folder
        self.name = folder.name
        self.spark = spark
        self.dag_id = f"refresh.{self.name}"
        self._dags = dags
        self._connection = connection or f"refresh_{self.name}"
        self._round = 0
        self._ids, self._changing = range(rows), range(rows * 3 // 4)
        self._places = Places(control=str(folder / "control"), spark=spark, spark_home=str(folder / "spark"))
        self.change()
        self.refreshes.register(self._definition({}))
        self.refreshes.run(self.name, Request())
        airflow.rest.set_connection(
            self._connection, "airflow_refresh", {"control": self._places.control, "spark": spark}
        )

    @property
    def refreshes(self) -> Refreshes:
        return refreshes(self._places)

    @property
    def published(self) -> int | None:
        return self.refreshes.show(self.name).published_version

    def deploy(
        self, options: str = "default_args={'retries': 2}", *dag_ids: str, tasks: str = PHASED, **changes: Any
    ) -> None:
        """Write the DAG file and wait until Airflow has it. `changes` are fields of the definition."""
        given = dag_ids or (self.dag_id,)
        body = _DAG_FILE.format(
            root=str(ROOT),
            folder=str(self.folder),
            dag_ids=given,
            definition=self._definition({"chunking": _SMALL} | changes).model_dump(mode="json", exclude_unset=True),
            tasks=tasks.format(connection=self._connection, options=options),
        )
        (self._dags / f"{self.name}.py").write_text(body)
        until(lambda: set(given) <= self.airflow.rest.dag_ids(), f"DAG {given}")

    def register(self) -> None:
        """Register the definition of its DAG, as the first task of a DAG run does."""
        self.refreshes.register(self._definition({"chunking": _SMALL}))

    def change(self) -> None:
        """Other amounts in three quarters of the rows."""
        self._round += 1
        table = pa.table({"id": pa.array(self._ids, pa.int64()), "amount": pa.array(self._amounts(), pa.int64())})
        write_deltalake(str(self.folder / "silver"), table, mode="overwrite")

    def fresh(self) -> bool:
        """Whether the target has what the query says, and a reader of whole refreshes is shown it."""
        rows = read(self.folder / "gold", "SELECT id, doubled FROM found")
        idle = self.refreshes.show(self.name).run is None
        return idle and rows == Seen((i, 2 * amount) for i, amount in zip(self._ids, self._amounts(), strict=True))

    def healed(self) -> bool:
        """Whether the next refresh, in this process, finishes what is left and makes the target fresh."""
        self.refreshes.run(self.name, Request())
        return self.fresh()

    def trigger(self, **conf: Any) -> str:
        answer = self.acts.trigger(self.dag_id, **conf)
        return str(answer.raise_for_status().json()["dag_run_id"])

    def ended(self, run_id: str, dag_id: str | None = None) -> str:
        """The state in which a DAG run ends."""
        dag = dag_id or self.dag_id
        until(lambda: self.airflow.rest.state(dag, run_id) in ENDED, f"the end of {run_id}")
        return self.airflow.rest.state(dag, run_id)

    def tasks(self, run_id: str) -> dict[str, TaskSeen]:
        """Task instances as `load` or `merge[0]`."""
        found = self.airflow.rest.tasks(self.dag_id, run_id)
        return {t.task_id if t.map_index < 0 else f"{t.task_id}[{t.map_index}]": t for t in found}

    def states(self, run_id: str) -> dict[str, str]:
        return {name: task.state for name, task in self.tasks(run_id).items()}

    def hold(self, point: str = CHUNK) -> None:
        """Let tasks wait when they get to a point: merge tasks after their next chunk."""
        (self.folder / hold_file(point)).touch()

    def release(self) -> None:
        for file in (*self.folder.glob(hold_file("*")), *self.folder.glob("held-*")):
            file.unlink()

    def held(self, units: int = 1) -> list[psutil.Process]:
        """The processes of tasks that wait; returns when so many do."""
        until(lambda: len(list(self.folder.glob("held-*"))) >= units, "a task that waits")
        return [psutil.Process(int(file.name.removeprefix("held-"))) for file in self.folder.glob("held-*")]

    def held_half_way(self, run_id: str) -> psutil.Process:
        """The process of a merge task that waits and has more chunks to do; needs all units to be held."""
        self.held()
        units = self.airflow.rest.returned(self.dag_id, run_id, "load")
        waiting = self.held(len(units))
        return next(task for task in waiting if units[self.index_of(run_id, task)]["chunks"] > 1)

    def index_of(self, run_id: str, process: psutil.Process) -> int:
        """The map index of the task that a process works for, -1 for one that is not mapped."""
        [index] = (task.map_index for task in self.tasks(run_id).values() if task.pid == process.pid)
        return index

    def fail(self, *, wanted: bool = True) -> None:
        """Let merge tasks fail after their next chunk, or no more."""
        path = self.folder / FAIL
        path.touch() if wanted else path.unlink(missing_ok=True)

    def _amounts(self) -> list[int]:
        return [i + (self._round if i in self._changing else 0) for i in self._ids]

    def _definition(self, changes: dict[str, Any]) -> Definition:
        given = {
            "name": self.name,
            "target": str(self.folder / "gold"),
            "query": "SELECT id, amount * 2 AS doubled FROM orders",
            "inputs": {"orders": {"path": str(self.folder / "silver")}},
            "keys": ["id"],
            "layout": "vnode",
            "vnodes": 4,
            "visibility": "live",
        }
        return Definition.build(**(given | changes))


def run_cli(table: Table, *words: str) -> Any:
    """`airflow-refresh` on a table's control root."""
    program = str(Path(sys.executable).parent / "airflow-refresh")
    command = [program, *words, table.name, "--control", str(table.folder / "control"), "--output", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ)).stdout)
