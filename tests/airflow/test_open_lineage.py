"""What an OpenLineage server receives of refreshes: datasets with versions, columns, rows, and the run."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from airflow.providers.openlineage.plugins.listener import OpenLineageListener
from airflow.sdk.listener import get_listener_manager

from airflow_refresh_provider.task_context import lineage
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.airflow.test_dags_in_memory import PHASED, SINGLE
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row

Event = dict[str, Any]


class Server(HTTPServer):
    """It keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.events: list[Event] = []

    def of(self, task: str, kind: str) -> Event:
        """The event of a task of that kind."""
        [found] = [
            event for event in self.events if event["eventType"] == kind and event["job"]["name"].endswith(f".{task}")
        ]
        return found


class Receiver(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.events.append(json.loads(body))
        self.send_response(201)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets variables of the environment, by which Airflow and OpenLineage are configured."""

    def put(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return put


@pytest.fixture
def server(configured: Callable[..., None]) -> Iterator[Server]:
    """An endpoint on this machine that Airflow's listener sends to, as it is configured to."""
    listeners = get_listener_manager()  # made before Airflow would add the provider's own for good
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        configured(
            AIRFLOW__OPENLINEAGE__TRANSPORT=json.dumps({"type": "http", "url": url}),
            AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD="True",
        )
        listener = OpenLineageListener()
        listeners.add_listener(listener)
        try:
            yield server
        finally:
            listeners.pm.unregister(listener)
            server.shutdown()
            thread.join(timeout=10)


def test_a_refresh_sends_what_it_read_and_wrote(airflow: Airflow, share: Callable[..., Shared], server: Server) -> None:
    shared = share(mode="incremental")
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    airflow.run(dag)
    server.events.clear()
    shared.world.lake.append(INPUT, [row(50), row(51)])
    result = airflow.run(dag).returned["finish"]

    event = server.of("finish", "COMPLETE")
    [read], [written] = event["inputs"], event["outputs"]
    assert (read["namespace"], read["name"]) == ("file", INPUT)
    assert (written["namespace"], written["name"]) == ("file", TARGET)
    after, upto = result["windows"]["x"]
    window = read["inputFacets"]["refresh_window"]
    assert (window["after"], window["upto"]) == (str(after), str(upto))
    assert read["facets"]["version"]["datasetVersion"] == str(result["input_versions"]["x"])
    assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["k", "v"]

    assert written["facets"]["version"]["datasetVersion"] == str(result["published_version"])
    assert [(f["name"], f["type"]) for f in written["facets"]["schema"]["fields"]] == [("k", "int"), ("v", "string")]
    made_of = written["facets"]["columnLineage"]["fields"]
    assert {name: [f["field"] for f in one["inputFields"]] for name, one in made_of.items()} == {"k": ["k"], "v": ["v"]}
    assert made_of["k"]["inputFields"][0]["name"] == INPUT
    statistics = written["outputFacets"]["outputStatistics"]
    assert statistics["rowCount"] == 2 and statistics["size"] > 0
    rows = written["outputFacets"]["refresh_rows"]
    assert (rows["inserted"], rows["updated"], rows["deleted"], rows["unchanged"]) == (2, 0, 0, 9)

    facet = event["run"]["facets"]["refresh"]
    assert (facet["runId"], facet["definition"], facet["mode"]) == (result["run_id"], NAME, "incremental")
    assert event["job"]["facets"]["sql"]["query"] == "SELECT * FROM x"


def test_a_start_and_a_failure_have_the_tables_without_versions(
    airflow: Airflow, share: Callable[..., Shared], server: Server
) -> None:
    shared = share()
    dag = airflow.dag(SINGLE.format(definition=shared.definition, name="sent"))
    with at(shared.world.lake, "begin /gold", disconnected):
        airflow.run(dag)
    for kind in ("START", "FAIL"):
        event = server.of("refresh", kind)
        assert [one["name"] for one in (*event["inputs"], *event["outputs"])] == [INPUT, TARGET]
        assert "version" not in event["outputs"][0].get("facets", {})
    assert "the connection to Spark broke" in server.of("refresh", "FAIL")["run"]["facets"]["errorMessage"]["message"]


LOG = logging.getLogger("of this test")


NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name == "airflow.providers.openlineage.conf":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, NotInstalled())
from airflow_refresh_provider.task_context import lineage
assert lineage.read(None, None, None) is None
"""


def test_nothing_is_read_where_nothing_is_sent(configured: Callable[..., None]) -> None:
    world = World(row(1))
    result = world.run()
    assert lineage.read(world.ports, result, LOG) is None
    configured(OPENLINEAGE_URL="http://127.0.0.1:1")
    assert lineage.read(world.ports, result, LOG) is not None


def test_nothing_is_read_where_the_provider_is_not_installed(configured: Callable[..., None]) -> None:
    configured(OPENLINEAGE_URL="http://127.0.0.1:1")
    subprocess.run([sys.executable, "-c", NOT_INSTALLED], check=True)


def test_what_cannot_be_read_fails_no_refresh_and_is_logged(
    configured: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    configured(OPENLINEAGE_URL="http://127.0.0.1:1")
    world = World(row(1))
    result = world.run()
    world.refreshes.drop(NAME)
    with caplog.at_level(logging.INFO):
        assert lineage.read(world.ports, result, LOG) is None
    assert "[unknown_name]" in caplog.text
