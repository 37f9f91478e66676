"""How long the page takes with 1,000 definitions that have 100 runs each.

In milliseconds, without the network. Targets and inputs are Delta tables on the local disk. The first request
of a process opens the control tables; later ones follow their logs. Each definition and run is asked for once, and each
definition has a query of its own: nothing of them was seen before. `look`: what one target and its two inputs cost in
the background. The history is as it is at worst: the newest runs are not yet ordered by definition.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import DeltaTable, write_deltalake
from starlette.testclient import TestClient

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.overview import Filter
from airflow_refresh_provider.core.run.record import Published, Record
from airflow_refresh_provider.delta.control.compaction import COMPACT_EVERY, MAINTAIN_EVERY
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.page.child_runs import ChildRuns
from airflow_refresh_provider.page.stand_alone import HOST, TokenGate, stand_alone
from airflow_refresh_provider.page.stored_views import StoredViews
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.control import EventRow
from airflow_refresh_provider.runner.hold.run_ends import end_of
from airflow_refresh_provider.runner.report.observation import look
from benchmarks.ended_runs import ended, entry, run_id

DEFINITIONS = 1_000
RUNS = 100
TRIES = 15
_START = datetime.now(UTC) - timedelta(days=30)


def measure() -> dict[str, float]:
    """Make the tables, take the figures."""
    with tempfile.TemporaryDirectory() as root:
        fill(Path(root))
        return figures(Path(root))


def figures(root: Path) -> dict[str, float]:
    """The figures of a root that was filled before."""
    places = Places(f"{root}/control", "local", f"{root}/spark")
    found = refreshes(places)
    gate, views = TokenGate(), StoredViews(found)
    client = TestClient(stand_alone(views, gate, ChildRuns(places, os.environ)), base_url=f"http://{HOST}")
    client.get(f"/?token={gate.token}", follow_redirects=False)
    first = _milliseconds(lambda: _ask(client, "/"))
    records = {record.name: record for record in found.ports.store.records()}
    names = iter(list(records))
    seen = _times("look", lambda: look(found.ports, records[next(names)]))
    while any(one.looked_at is None for one in views.overview(Filter(), 0, DEFINITIONS).definitions):
        time.sleep(1)
    return {
        "definitions": DEFINITIONS,
        "runs_of_each": RUNS,
        "tries": TRIES,
        "overview_first_ms": first,
        **_times("overview", lambda: _ask(client, "/")),
        **_times("overview_of_the_api", lambda: _ask(client, "/api/v1/overview")),
        **_times("definition", lambda: _ask(client, f"/definitions/{next(names)}")),
        **_times("run", lambda: _ask(client, f"/definitions/{(name := next(names))}/runs/{run_id(name, 7)}")),
        **_times("costs", lambda: _ask(client, "/costs?days=90")),
        **_times("list", lambda: found.ports.store.records()),
        **seen,
        "load": round(max(os.getloadavg()), 1),
    }


def _ask(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200, path


def fill(root: Path) -> None:
    """Make the tables of a lake and its control tables."""
    store = DeltaControlStore(f"{root}/control")
    pins = {name: _table(root / "silver" / name) for name in ("orders", "customers")}
    names = [f"gold.table_{n:04}" for n in range(DEFINITIONS)]
    for name in names:
        record = _record(name, _table(root / "gold" / name), pins)
        store.commit(store.read(name), record, Event.REGISTER, _START)
    fill_history(store, names)


def fill_history(store: DeltaControlStore, names: list[str]) -> None:
    """Runs of all definitions: those that were ordered, those that were merged since, and the newest one by one."""
    events = ControlTable(store.root, "events")
    ends = [end_of(entry(name, run, _START + timedelta(hours=7 * run))) for run in range(RUNS) for name in names]
    merged, newest = len(ends) - MAINTAIN_EVERY, len(ends) - COMPACT_EVERY + 1
    for first in range(0, merged, DEFINITIONS):
        _append(events, ends[first : min(merged, first + DEFINITIONS)])
    store.compact()
    _append(events, ends[merged:newest])
    for end in ends[newest:]:
        store.add_event(end)


def _append(events: ControlTable, ends: list[EventRow]) -> None:
    events.append(events.open_or_create(), [end.model_dump() for end in ends])


def _table(place: Path) -> DeltaPin:
    write_deltalake(str(place), pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
    table = DeltaTable(str(place))
    return DeltaPin(location=str(place), table_id=str(table.metadata().id), version=table.version())


def _record(name: str, target: DeltaPin, pins: dict[str, DeltaPin]) -> Record:
    definition = Definition.build(
        name=name,
        target=target.location,
        query=f"SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id AND o.name <> '{name}'",
        inputs={name: {"path": pin.location} for name, pin in pins.items()},
        keys=["id"],
        refresh={"on_change": True, "target_lag": "10 minutes"},
        tags=[f"team_{int(name[-2:]) % 10}"],
    )
    published = Published(
        run_id=run_id(name, RUNS - 1),
        target_id=target.table_id,
        version=target.version,
        seal_version=target.version,
        pins=dict(pins),
        definition_hash=definition.hash,
        clocked=False,
        at=_START,
        started_at=_START,
    )
    last = LastRun.succeeded(ended(name, RUNS - 1), _START)
    return Record(
        name=name, definition=definition, facts=definition.analyse_query(), published=published, last_run=last
    )


def _milliseconds(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    act()
    return round((clock() - start) * 1000, 1)


def _times(name: str, act: Callable[[], object]) -> dict[str, float]:
    """The median, the least, and the least time of processors, which others on the machine lengthen less."""
    walls: list[float] = []
    processors = [_milliseconds(lambda: walls.append(_milliseconds(act)), time.process_time) for _ in range(TRIES)]
    return {
        f"{name}_ms": round(statistics.median(walls), 1),
        f"{name}_least_ms": min(walls),
        f"{name}_cpu_ms": min(processors),
    }
