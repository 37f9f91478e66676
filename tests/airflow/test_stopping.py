"""SIGTERM in the middle of a statement: the task fails, Spark's session is released, the next DAG run goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from tests.airflow.conftest import Airflow
from tests.airflow.shared import CHUNKED, Shared
from tests.unit.runner.world import row

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), schedule=None, default_args={{"retries": 0}})
"""
SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("stopped", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Airflow's handler stays when its task has ended."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("body", "stopped", "point", "nth"),
    [
        (SINGLE, "refresh", "commit /gold", 1),
        (SINGLE, "refresh", "commit memory://staging", 1),
        (PHASED, "load", "commit memory://staging", 1),
        (PHASED, "merge[0]", "commit /gold", 1),
        (PHASED, "finish", "read newest /gold", 9),  # eight chunks have been looked for before
    ],
)
def test_a_task_that_is_asked_to_stop_leaves_the_run_to_the_next(
    airflow: Airflow, share: Callable[..., Shared], body: str, stopped: str, point: str, nth: int
) -> None:
    shared = share(**CHUNKED)
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    published = shared.world.record.published
    dag = airflow.dag(body.format(definition=shared.definition))
    reached: list[str] = []
    released: list[str] = []

    def step(what: str) -> None:
        if what.startswith(point):
            reached.append(what)
            if len(reached) == nth:
                os.kill(os.getpid(), signal.SIGTERM)
        if what == "release session":
            released.append(what)

    shared.world.lake.step = step
    seen = airflow.run(dag)

    assert (seen.state, seen.tasks[stopped]) == ("failed", "failed")
    assert shared.world.record.published == published
    assert released
    assert shared.world.interrupted.lease.parked_until is None
    shared.world.lake.step = lambda _what: None
    assert airflow.run(dag).state == "success"
    assert shared.world.fresh()


def test_a_task_that_takes_too_long_ends_its_statement_and_leaves_the_run_to_the_next(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    published = shared.world.record.published
    body = SINGLE.replace('task_id="refresh"', 'task_id="refresh", execution_timeout=timedelta(seconds=2)')
    dag = airflow.dag(
        body.format(definition=shared.definition).replace("import datetime", "import datetime, timedelta")
    )
    closed: list[str] = []

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            session = shared.world.interrupted.lease.session
            assert session is not None
            closed.append(session)
            time.sleep(60)

    shared.world.lake.step = step
    seen = airflow.run(dag)

    assert (seen.state, seen.tasks) == ("failed", {"refresh": "failed"})
    engine = shared.ports[-1].engine
    assert isinstance(engine, MemoryEngine)
    assert closed[0] in engine.released
    assert shared.world.record.published == published
    shared.world.lake.step = lambda _what: None
    assert airflow.run(dag).state == "success"
    assert shared.world.fresh()


def test_a_task_that_takes_too_long_does_not_wait_for_its_units(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(layout="vnode", vnodes=4, **CHUNKED)
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    body = SINGLE.replace('task_id="refresh"', 'task_id="refresh", execution_timeout=timedelta(seconds=2)')
    dag = airflow.dag(
        body.format(definition=shared.definition).replace("import datetime", "import datetime, timedelta")
    )
    at_work, released = threading.Event(), threading.Event()

    def step(what: str) -> None:
        if what == "release session" and at_work.is_set():
            released.set()
        if what.startswith("commit /gold"):
            at_work.set()
            assert released.wait(60), "the statements of the units were not ended"

    shared.world.lake.step = step
    assert airflow.run(dag).tasks == {"refresh": "failed"}
    assert released.is_set()
    shared.world.lake.step = lambda _what: None
    assert airflow.run(dag).state == "success"
    assert shared.world.fresh()


def test_a_task_that_is_not_at_work_has_nothing_to_stop() -> None:
    RefreshOperator(task_id="t", definition="d").on_kill()
