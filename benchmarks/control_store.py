"""How long control writes take when the tables have grown.

Medians in milliseconds: a progress commit beside 10,000 rows, the listing of 1,000 definitions in a fresh store, and
a transition (a read and the commit through it) beside them. And with the history of a week of 300 tables that are
refreshed every five minutes: the newest runs of one of them, and the maintenance that 512 of their commits are due for.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.hold.run_ends import end_of
from airflow_refresh_provider.runner.report.reports import NEWEST_RUNS
from benchmarks.ended_runs import entry, run_id

FACTS = QueryFacts(tables=(), clock_spans=(), row_wise=False)

PROGRESS_ROWS = 10_000
ROWS_A_COMMIT = 16
DEFINITIONS = 1_000
TRIES = 25
TABLES = 300
RUNS = 7 * 24 * 12
RUNS_AT_ONCE = 100

_START = datetime(2030, 1, 1, tzinfo=UTC)


def measure() -> dict[str, float]:
    """Fill a store and time it."""
    with tempfile.TemporaryDirectory() as root:
        store = DeltaControlStore(root)
        _fill(store)
        return {
            "progress_commit_ms": _median(lambda n: store.add_progress(_rows(PROGRESS_ROWS + n))),
            "list_definitions_ms": _median(lambda _: _list(root)),
            "transition_ms": _median(lambda n: _transition(store, n)),
            "progress_rows": PROGRESS_ROWS,
            "definitions": DEFINITIONS,
            **_with_history(),
        }


def _with_history() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as root:
        store, names = DeltaControlStore(root), [f"gold.table_{n}" for n in range(TABLES)]
        assert store.control_id
        for first in range(0, RUNS, RUNS_AT_ONCE):
            _end(store, names, range(first, min(RUNS, first + RUNS_AT_ONCE)))
            store.compact()
        return {
            "history_runs": RUNS * TABLES,
            "newest_runs_ms": _median(lambda n: store.newest_events(names[n], NEWEST_RUNS)),
            "maintenance_ms": _median(lambda n: _maintained(store, names, RUNS + 2 * n)),
        }


def _maintained(store: DeltaControlStore, names: list[str], run: int) -> None:
    _end(store, names, range(run, run + 2))
    store.compact()


def _end(store: DeltaControlStore, names: list[str], runs: range) -> None:
    """The ends of runs of all tables, in one commit."""
    events, rows = ControlTable(store.root, "events"), []
    for run in runs:
        one = end_of(entry(names[0], run, _START + timedelta(minutes=5 * run))).model_dump()
        rows += [{**one, "name": name, "run_id": run_id(name, run)} for name in names]
    events.append(events.open_or_create(), rows)


def _fill(store: DeltaControlStore) -> None:
    for name in _names():
        store.commit(store.read(name), _record(name, 1), Event.REGISTER, _START)
    for commit in range(PROGRESS_ROWS // ROWS_A_COMMIT):
        store.add_progress(_rows(commit))


def _names() -> list[str]:
    return [f"gold.table_{n}" for n in range(DEFINITIONS)]


def _record(name: str, generation: int) -> Record:
    definition = Definition(
        name=name,
        target=f"/lake/{name}",
        query="SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id",
        inputs={"orders": Input(path="/raw/orders"), "customers": Input(path="/raw/customers")},
        keys=("id",),
    )
    return Record(facts=FACTS, name=name, definition=definition, generation=generation)


def _rows(commit: int) -> list[ProgressRow]:
    at = _START + timedelta(seconds=commit)
    return [
        ProgressRow(
            name="gold.table_1",
            run_id=f"run-{commit % 10}",
            vnode=vnode,
            stage="merging",
            unit=0,
            chunk=commit,
            generation=1,
            at=at,
        )
        for vnode in range(ROWS_A_COMMIT)
    ]


def _list(root: str) -> None:
    assert len(DeltaControlStore(root).records()) == DEFINITIONS


def _transition(store: DeltaControlStore, n: int) -> None:
    store.commit(store.read("gold.table_7"), _record("gold.table_7", n + 2), Event.START, _START)


def _median(act: Callable[[int], object]) -> float:
    times = []
    for n in range(TRIES):
        start = time.perf_counter()
        act(n)
        times.append(time.perf_counter() - start)
    return round(statistics.median(times) * 1000, 1)
