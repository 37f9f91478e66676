"""Airflow in this process: a migrated metadata database, DAG files of each test, and tasks run by `dag.test`."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
import structlog.testing

import airflow_refresh_provider.compose
from tests.airflow.repeating import Task, clear, go_on
from tests.airflow.shared import Shared
from tests.sharing import copy_migrated

# Airflow reads these at its first import. A DAG is what its file says now, not what another test's file said before.
_HOME = Path(os.environ["AIRFLOW_HOME"])
DAGS = _HOME / "dags"
os.environ.update(
    {
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_FETCH_INTERVAL": "0",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
)

# Two tests may write DAG files of one name and size in one second: Python would run what it has compiled of the first.
sys.dont_write_bytecode = True

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG


@dataclass(frozen=True)
class DagRunSeen:
    """How a DAG run ended: its state, those of its tasks (mapped ones as `task[0]`), what they returned, and tries.

    `shown`: by what people see mapped ones called. `notes`: the lines that tasks have left about the refresh.
    """

    state: str
    tasks: dict[str, str]
    returned: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    shown: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


class Airflow:
    """DAG files are written and run; each test has file names of its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._files = 0

    def dag(self, body: str) -> DAG:
        """The one DAG of a file with this body."""
        self._files += 1
        file = DAGS / f"{self._name}_{self._files}.py"
        file.write_text(body)
        return self.dag_of(file)

    def dag_of(self, file: Path) -> DAG:
        """The one DAG of a file in the DAG folder."""
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(file, bundle_name="dags-folder")
        assert bag.import_errors == {}
        [dag] = bag.dags.values()
        return dag

    def import_error(self, body: str) -> str:
        """What the one import error of a file says."""
        from airflow.dag_processing.dagbag import DagBag

        file = DAGS / f"{self._name}_broken.py"
        file.write_text(body)
        [error] = DagBag(file, bundle_name="dags-folder").import_errors.values()
        return str(error)

    def run(self, dag: DAG, marked: str | None = None, **conf: Any) -> DagRunSeen:
        """One DAG run from start to end. The task `marked` does not run: it is marked as success."""
        return self._seen(dag.test(run_conf=conf or None, mark_success_pattern=marked))

    def clear(self, dag: DAG, run_id: str, *tasks: Task, downstream: bool) -> DagRunSeen:
        """How a DAG run ends after some of its tasks, or all if none is named, have been cleared."""
        clear(dag, run_id, tasks, downstream=downstream)
        return self._seen(go_on(dag, run_id))

    def asset_events(self, name: str, seen: DagRunSeen) -> list[dict[str, Any]]:
        """What a DAG run has said about the asset of this name."""
        from airflow.models.asset import AssetEvent, AssetModel
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.query(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
            return [e.extra for e in found.filter(AssetModel.name == name, AssetEvent.source_run_id == seen.run_id)]

    def _seen(self, dag_run: DagRun) -> DagRunSeen:
        from airflow_refresh_provider.task_context.binding import NOTE

        instances = dag_run.get_task_instances()
        named = {(i.task_id if i.map_index < 0 else f"{i.task_id}[{i.map_index}]"): i for i in instances}
        return DagRunSeen(
            state=str(dag_run.state),
            tasks={name: str(i.state) for name, i in named.items()},
            returned={name: i.xcom_pull(task_ids=i.task_id, map_indexes=i.map_index) for name, i in named.items()},
            run_id=dag_run.run_id,
            shown={name: i.rendered_map_index for name, i in named.items() if i.rendered_map_index},
            tries={name: i.try_number for name, i in named.items()},
            notes={
                name: line
                for name, i in named.items()
                if (line := i.xcom_pull(task_ids=i.task_id, key=NOTE, map_indexes=i.map_index))
            },
        )


@pytest.fixture(scope="session")
def _metadata() -> None:
    """A database that Airflow can use, and a folder for DAG files."""
    DAGS.mkdir(parents=True, exist_ok=True)
    copy_migrated(_HOME / "airflow.db")


@pytest.fixture
def airflow(_metadata: None, request: pytest.FixtureRequest) -> Iterator[Airflow]:
    """Airflow with the DAG files of this test. Their assets go with them: another test has its own of the same name."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    yield Airflow(name)
    for file in DAGS.glob("*.py"):
        file.unlink()
    _forget_assets()


def _forget_assets() -> None:
    from airflow.models.asset import AssetActive, AssetModel
    from airflow.utils.session import create_session

    with create_session() as session:
        session.query(AssetActive).delete()
        session.query(AssetModel).delete()


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the fields of the connection `refresh_default`."""
    for variable in ("AIRFLOW_REFRESH_CONTROL", "AIRFLOW_REFRESH_SPARK"):
        monkeypatch.delenv(variable, raising=False)

    def set_fields(**fields: Any) -> None:
        value = json.dumps({"conn_type": "airflow_refresh", "extra": fields})
        monkeypatch.setenv("AIRFLOW_CONN_REFRESH_DEFAULT", value)

    return set_fields


@pytest.fixture
def _own_signals() -> Iterator[None]:
    """Airflow's handler stays when its task has ended."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch, connection: Callable[..., None]) -> Callable[..., Shared]:
    connection(control="/memory")

    def made(**options: Any) -> Shared:
        shared = Shared(**options)
        monkeypatch.setattr(airflow_refresh_provider.compose, "refreshes", shared.refreshes)
        return shared

    return made


@contextmanager
def task_log() -> Iterator[list[str]]:
    """The log lines of tasks in this process."""
    before = structlog.get_config()
    said: list[str] = []
    with structlog.testing.capture_logs() as logs:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
        try:
            yield said
        finally:
            structlog.configure(**before)
            said.extend(str(entry["event"]) for entry in logs)
