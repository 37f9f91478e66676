"""The composition: the store, engine and clock for a set of places. Heavy modules are imported on use."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.errors import UNREACHABLE, Retry
from airflow_refresh_provider.host import LocalProcesses, StoredHeart, SystemClock, process_label
from airflow_refresh_provider.places import EMBEDDED, Places
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import Engine, EngineSession
from airflow_refresh_provider.ports.store_as_written import StoreAsWritten
from airflow_refresh_provider.ports.watch import Silent, Watch
from airflow_refresh_provider.runner.facts.hidden_values import without_values
from airflow_refresh_provider.runner.refreshes import Refreshes

if TYPE_CHECKING:
    from airflow_refresh_provider.delta.control.application_results import ApplicationResults
    from airflow_refresh_provider.spark.server.embedded import EmbeddedServer


def refreshes(
    places: Places,
    watch: Watch | None = None,
    label: str | None = None,
    origin_status: Callable[[str], OriginStatus] | None = None,
    engine: Engine | None = None,
) -> Refreshes:
    """The refreshes of one control root. `label` names this owner to others; `origin_status` answers for origins.

    `engine` is used instead of the Spark that the places name.
    """
    from airflow_refresh_provider.delta.control.store import DeltaControlStore
    from airflow_refresh_provider.delta.tables.seals import DeltaSeals
    from airflow_refresh_provider.delta.tables.small_tables import SmallDeltaTables
    from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
    from airflow_refresh_provider.delta.tables.table_folders import StoredTableFolders
    from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
    from airflow_refresh_provider.inputs.kinds import input_kinds

    clock, environment = SystemClock(), dict(os.environ)
    store = StoreAsWritten(DeltaControlStore(places.control), environment)
    return Refreshes(
        Ports(
            store=store,
            log=DeltaTableLog(),
            folders=StoredTableFolders(),
            inputs=input_kinds(),
            staging=StagingFolders(),
            small_tables=SmallDeltaTables(),
            seals=DeltaSeals(),
            engine=engine or LazyEngine(places, watch),
            clock=clock,
            processes=LocalProcesses(label or process_label(environment), origin_status or _unknown),
            heart=StoredHeart(store, clock),
            watch=watch or Silent(),
            environment=environment,
            staging_root=f"{places.control}/staging",
            control_root=places.control,
        )
    )


def input_state(read: Input) -> Callable[[], str]:
    """A function that returns a text, which changes whenever rows of the input may have changed. Raises errors.*"""
    from airflow_refresh_provider.inputs.kinds import kind_of

    look = kind_of(read.format).watch(read.expanded(os.environ))

    def state() -> str:
        with without_values(os.environ, [read]):
            return look()

    return state


def application_results(places: Places) -> ApplicationResults:
    """The results that submitted applications leave in the control root."""
    from airflow_refresh_provider.delta.control.application_results import ApplicationResults

    return ApplicationResults(places.control)


def look(places: Places) -> str:
    """Control root and Spark in one line. Raises errors.* when they cannot be used; starts nothing."""
    found = refreshes(places)
    definitions = len(found.ports.store.records())
    control = f"{definitions} definitions in {places.control}"
    if not found.ports.store.exists:
        control = f"there is no control root at {places.control} yet: registering the first definition creates it"
    if places.spark == EMBEDDED:
        running = embedded_server(places).status().running
        spark = "the embedded Spark server runs" if running else "the embedded Spark server starts when it is needed"
    else:
        from airflow_refresh_provider.spark.connect.endpoint import Endpoint, must_answer

        must_answer(Endpoint(places.spark))
        spark = "Spark answers"
    return f"{control}; {spark}"


def embedded_server(places: Places) -> EmbeddedServer:
    """The Spark server that belongs to a control root."""
    from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

    return EmbeddedServer(Path(places.spark_home), ServerOptions.of(os.environ))


def _engine(places: Places) -> Engine:
    from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
    from airflow_refresh_provider.spark.connect.deferred_pandas import pandas_deferred

    with pandas_deferred():
        from airflow_refresh_provider.spark.connect.endpoint import Endpoint
        from airflow_refresh_provider.spark.engine import SparkEngine

    if places.spark == EMBEDDED:
        server = embedded_server(places)
        return SparkEngine(server.ensure(), StagingFolders(), server.explained)
    return SparkEngine(Endpoint(places.spark), StagingFolders())


class LazyEngine:
    """The engine of a set of places, made by `make` when the first session is opened; that may start Spark."""

    def __init__(self, places: Places, watch: Watch | None = None, make: Callable[[Places], Engine] = _engine) -> None:
        self._places = places
        self._watch = watch or Silent()
        self._make = make
        self._engine: Engine | None = None
        self._making = threading.Lock()

    def open(self, session_id: str) -> EngineSession:
        """Open a session, starting the embedded server if it is used and does not run, or has ended meanwhile."""
        try:
            return self._opened(session_id)
        except Retry as error:
            if self._places.spark != EMBEDDED or error.code != UNREACHABLE:
                raise
            self._engine = None
            return self._opened(session_id)

    def _opened(self, session_id: str) -> EngineSession:
        with self._making:  # refreshes side by side share one engine, and one of them starts Spark
            doing, began = self._doing(), time.monotonic()
            if doing:
                self._watch.note(doing)
            engine = self._made()
        session = engine.open(session_id)
        if doing:
            self._watch.note(f"Spark answers after {time.monotonic() - began:.1f} s")
        return session

    def release(self, session_id: str) -> None:
        """Release a session. A server that does not run has none."""
        embedded = self._engine is None and self._places.spark == EMBEDDED
        if not embedded or embedded_server(self._places).status().running:
            self._found().release(session_id)

    def _doing(self) -> str | None:
        """What opening the first session does that may take a while; None where a server of this machine runs."""
        if self._engine is not None:
            return None
        if self._places.spark != EMBEDDED:
            return "connecting to Spark"
        if embedded_server(self._places).status().running:
            return None
        return "starting Spark, which takes some seconds; it stays until `airflow-refresh spark stop`"

    def _found(self) -> Engine:
        with self._making:
            return self._made()

    def _made(self) -> Engine:
        if self._engine is None:
            self._engine = self._make(self._places)
        return self._engine


def _unknown(_origin: str) -> OriginStatus:
    return OriginStatus.UNKNOWN
