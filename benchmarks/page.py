"""How long the page takes with 1,000 definitions that have 100 runs each: `python -m benchmarks.page`.

Medians in milliseconds, without the network. Targets and inputs are Delta tables on the local disk. The first request
of a process opens the control tables; later ones follow their logs. `look`: what one target and its two inputs cost in
the background.
"""

from __future__ import annotations

import json
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
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows, RunResult, StoredHistory
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.page.child_runs import ChildRuns
from airflow_refresh_provider.page.stand_alone import HOST, TokenGate, stand_alone
from airflow_refresh_provider.page.stored_views import StoredViews
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.hold.ending import RUN_ENDED
from airflow_refresh_provider.runner.report.observation import observe

DEFINITIONS = 1_000
RUNS = 100
TRIES = 15
_START = datetime.now(UTC) - timedelta(days=30)


def main() -> None:
    """Make the tables, take the figures, print them as JSON."""
    with tempfile.TemporaryDirectory() as root:
        places = Places(f"{root}/control", "local", f"{root}/spark")
        _fill(DeltaControlStore(places.control), Path(root))
        print(json.dumps(_measure(places), indent=2))


def _measure(places: Places) -> dict[str, float]:
    found = refreshes(places)
    gate, views = TokenGate(), StoredViews(found)
    client = TestClient(stand_alone(views, gate, ChildRuns(places, os.environ)), base_url=f"http://{HOST}")
    client.get(f"/?token={gate.token}", follow_redirects=False)
    first = _milliseconds(lambda: _ask(client, "/"))
    records = {record.name: record for record in found.ports.store.records()}
    names = iter(list(records))
    look = _median(lambda: observe(found.ports, records[next(names)]))
    while any(one.looked_at is None for one in views.overview(Filter(), 0, DEFINITIONS).definitions):
        time.sleep(1)
    return {
        "definitions": DEFINITIONS,
        "runs_of_each": RUNS,
        "overview_first_ms": first,
        "overview_ms": _median(lambda: _ask(client, "/")),
        "overview_of_the_api_ms": _median(lambda: _ask(client, "/api/v1/overview")),
        "definition_ms": _median(lambda: _ask(client, f"/definitions/{next(names)}")),
        "run_ms": _median(lambda: _ask(client, f"/definitions/{(name := next(names))}/runs/{name}-7")),
        "look_ms": look,
    }


def _ask(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200, path


def _fill(store: DeltaControlStore, root: Path) -> None:
    pins = {name: _table(root / "silver" / name) for name in ("orders", "customers")}
    names = [f"gold.table_{n:04}" for n in range(DEFINITIONS)]
    for name in names:
        record = _record(name, _table(root / "gold" / name), pins)
        store.commit(store.read(name), record, Event.REGISTER, _START)
    events = ControlTable(store.root, "events")
    for run in range(RUNS):
        rows = [_event(name, run) for name in names]
        events.append(events.open_or_create(), rows)
    store.compact()


def _table(place: Path) -> DeltaPin:
    write_deltalake(str(place), pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
    table = DeltaTable(str(place))
    return DeltaPin(location=str(place), table_id=str(table.metadata().id), version=table.version())


def _record(name: str, target: DeltaPin, pins: dict[str, DeltaPin]) -> Record:
    definition = Definition.build(
        name=name,
        target=target.location,
        query="SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id",
        inputs={name: {"path": pin.location} for name, pin in pins.items()},
        keys=["id"],
        refresh={"on_change": True, "target_lag": "10 minutes"},
        tags=[f"team_{int(name[-2:]) % 10}"],
    )
    published = Published(
        run_id=f"{name}-{RUNS - 1}",
        target_id=target.table_id,
        version=target.version,
        seal_version=target.version,
        pins=dict(pins),
        definition_hash=definition.hash,
        clocked=False,
        at=_START,
        started_at=_START,
    )
    last = LastRun.succeeded(_result(name, RUNS - 1), _START)
    return Record(
        name=name, definition=definition, facts=definition.analyse_query(), published=published, last_run=last
    )


def _result(name: str, run: int) -> RunResult:
    return RunResult(
        run_id=f"{name}-{run}",
        name=name,
        outcome=Outcome.SUCCEEDED,
        mode="incremental",
        mode_reason="changes of orders in versions 17 to 18",
        generation=run,
        rows=Rows(inserted=run, updated=7, deleted=1, unchanged=100_000),
        input_versions={"orders": run, "customers": run},
        windows={"orders": (run, run + 1)},
        published_version=run,
        lag_seconds=3.0,
        seconds=10.0 + run % 7,
        attempts=1,
        elapsed_seconds=10.0 + run % 7,
        stages={"start": 0.5, "load": 4.0, "merge": 5.0, "publish": 0.3},
    )


def _event(name: str, run: int) -> dict[str, object]:
    at = _START + timedelta(hours=run)
    result = _result(name, run)
    entry = HistoryEntry(
        name=name,
        run_id=result.run_id,
        outcome=result.outcome,
        at=at,
        generation=run,
        attempts=1,
        elapsed_seconds=result.elapsed_seconds,
        result=result,
    )
    detail = StoredHistory(entry=entry).model_dump_json()
    return {"name": name, "run_id": result.run_id, "event": RUN_ENDED, "generation": run, "at": at, "detail": detail}


def _milliseconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return round((time.perf_counter() - start) * 1000, 1)


def _median(act: Callable[[], object]) -> float:
    return round(statistics.median(_milliseconds(act) for _ in range(TRIES)), 1)


if __name__ == "__main__":
    main()
