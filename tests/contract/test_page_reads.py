"""What a request of the page reads of real tables: each is opened once, and of the history what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from starlette.testclient import TestClient

from airflow_refresh_provider import compose
from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.overview import Filter
from airflow_refresh_provider.core.run.record import Published, Record
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.delta.tables.opened_tables import OpenedTables
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.inputs.delta_table import DeltaTables
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.store_as_written import StoreAsWritten
from airflow_refresh_provider.runner.hold.run_ends import end_of
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.reports import NEWEST_RUNS
from tests.contract.samples import REGISTER, moment
from tests.contract.tables import rows, write
from tests.unit.page.site import browser, views_of

RUNS = NEWEST_RUNS + 20
NAME = "gold"


class Lake:
    """A definition that joins two tables, with some runs; what is read of it is counted in `read`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.read: Counter[str] = Counter()
        self.client = self._browser()
        self._fill()

    def get(self, path: str) -> dict[str, int]:
        """What a request reads when the same was asked before."""
        for _ in range(2):
            self.read.clear()
            assert self.client.get(path).status_code == 200, path
        return dict(self.read)

    def _browser(self) -> TestClient:
        ports = compose.refreshes(Places(str(self.root / "control"), "local", str(self.root / "spark"))).ports
        self.store = StoreAsWritten(DeltaControlStore(str(self.root / "control"), self._table), {})
        tables = OpenedTables(self._open)
        inputs = {**ports.inputs, "delta": DeltaTables(tables)}
        self.refreshes = Refreshes(replace(ports, store=self.store, log=DeltaTableLog(tables), inputs=inputs))
        return browser(self.refreshes)

    def _open(self, location: str, version: int | None = None) -> DeltaTable | None:
        self.read[Path(location).name] += 1
        return open_table(location, version)

    def _table(self, root: str, name: str) -> ControlTable:
        read = self.read

        class Counted(ControlTable):
            def open(self) -> DeltaTable | None:
                read[f"{self.name} opened"] += 1
                return super().open()

            def queries(self, view: DeltaTable) -> Callable[[str], list[Row]]:
                select = super().queries(view)

                def counted(sql: str) -> list[Row]:
                    found = select(sql)
                    read[f"{self.name} queries"] += 1
                    read[f"{self.name} rows"] += len(found)
                    return found

                return counted

        return Counted(root, name)

    def _fill(self) -> None:
        pins = {name: self._pin(name) for name in ("orders", "customers")}
        target = self._pin("target")
        definition = Definition.build(
            name=NAME,
            target=target.location,
            query="SELECT o.id, c._vnode FROM orders o JOIN customers c ON o.id = c.id",
            inputs={name: {"path": pin.location} for name, pin in pins.items()},
            keys=["id"],
        )
        published = Published(
            run_id=_run(RUNS - 1),
            target_id=target.table_id,
            version=0,
            seal_version=0,
            pins=dict(pins),
            definition_hash=definition.hash,
            clocked=False,
            at=moment(0),
        )
        record = Record(name=NAME, definition=definition, facts=definition.analyse_query(), published=published)
        self.store.commit(self.store.read(NAME), record, REGISTER, moment(0))
        for number in range(RUNS):
            self.store.add_event(end_of(_ended(number)))

    def _pin(self, name: str) -> DeltaPin:
        write(self.root / name, rows(1, 2))
        table = DeltaTable(self.root / name)
        return DeltaPin(location=str(self.root / name), table_id=str(table.metadata().id), version=0)


def _run(number: int) -> str:
    return f"run-{number}"


def _ended(number: int) -> HistoryEntry:
    fields = {"run_id": _run(number), "name": NAME, "outcome": Outcome.SUCCEEDED, "generation": number}
    result = RunResult.model_validate({**fields, "mode": "full", "seconds": float(number)})
    at = moment(0) + timedelta(minutes=number)
    return HistoryEntry.model_validate({**fields, "at": at, "elapsed_seconds": float(number), "result": result})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("lake"))


def test_a_page_of_a_definition_opens_each_table_once_and_reads_the_runs_that_it_shows(lake: Lake) -> None:
    tables = {"target": 1, "orders": 1, "customers": 1}
    assert lake.get(f"/definitions/{NAME}") == {**tables, "events queries": 1, "events rows": NEWEST_RUNS}


def test_a_look_in_the_background_opens_each_table_once(lake: Lake) -> None:
    lake.read.clear()
    (seen,) = views_of(lake.refreshes).overview(Filter(), 0, 1).definitions
    assert seen.looked_at is not None
    assert lake.read == {"target": 1, "orders": 1, "customers": 1}


def test_a_page_of_a_run_reads_this_run(lake: Lake) -> None:
    assert lake.get(f"/definitions/{NAME}/runs/{_run(3)}") == {
        "progress opened": 1,
        "events queries": 1,
        "events rows": 1,
    }


def test_costs_read_sums(lake: Lake) -> None:
    definitions, days = 1, 1
    assert lake.get("/costs?days=90") == {
        "events queries": 2,
        "events rows": definitions + days,
    }


def test_an_overview_that_was_seen_before_opens_nothing(lake: Lake) -> None:
    assert lake.get("/") == {}
