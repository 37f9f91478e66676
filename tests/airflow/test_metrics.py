"""What a statsd server hears of refreshes when Airflow's configuration names one: the lines as they arrive."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import conf
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Interrupted
from airflow_refresh_provider.signals import metrics
from airflow_refresh_provider.task_context import binding
from tests.airflow.conftest import Airflow, task_log
from tests.airflow.shared import BY_VNODE, Shared
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row

SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
with DAG("counted", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""
PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), default_args={{"retries": 0}})
"""
LINE = re.compile(r"airflow\.(?P<name>refresh\.\w+),(?P<tags>[^:]*):(?P<value>[^|]*)\|(?P<kind>\w+)")
PLAIN = re.compile(r"airflow\.(?P<name>refresh\.[\w.]+):(?P<value>[^|]*)\|(?P<kind>\w+)")
ROW = re.compile(r"^\| `(?P<name>refresh[\w.]+)` \| (?P<kind>\w+) \|", flags=re.MULTILINE)
CHUNK = re.compile(r"run (.+), unit (\d): chunk (\d) of \d by (\w+), \d rows, [\d,]+ rows/s")
BEFORE = re.compile(r"merge: (\d) of \d chunks were already in the target")
KINDS = {"counter": "c", "gauge": "g", "timer": "ms"}
OVER = b"over"
DOCS = Path(__file__).parents[2] / "docs" / "signals.md"


@contextmanager
def _listening(line: re.Pattern[str] = LINE) -> Iterator[list[re.Match[str]]]:
    """What Airflow sends of ours to a port of this machine; after the block all of it has been heard."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        heard: list[re.Match[str]] = []

        def listen() -> None:
            while (datagram := server.recv(65_536)) != OVER:
                heard.extend(m for text in datagram.decode().splitlines() if (m := line.fullmatch(text)))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            with _configured(server.getsockname()[1]):
                yield heard
        finally:
            server.sendto(OVER, server.getsockname())
            thread.join(timeout=10)


@contextmanager
def _configured(port: int) -> Iterator[None]:
    """Airflow sends its metrics to a port, tags in the style of InfluxDB."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
        environment.setenv("AIRFLOW__METRICS__STATSD_HOST", "127.0.0.1")
        environment.setenv("AIRFLOW__METRICS__STATSD_PORT", str(port))
        environment.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
        _as_configured()
        yield
    _as_configured()


def _as_configured() -> None:
    """What each process of Airflow does when it starts."""
    legacy = conf.getboolean("metrics", "legacy_names_on")
    stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=legacy)


def _tags(text: str) -> dict[str, str]:
    return dict(tag.split("=", 1) for tag in text.split(","))


def check_due_by_schedule(world: World) -> None:
    """What the first task of a scheduled DAG run asks."""
    context: Any = {"dag_run": SimpleNamespace(run_type="scheduled"), "params": {}}
    binding.check_due(context, world.ports, NAME)


def test_a_suspended_definition_is_counted_as_such_and_its_lag_is_still_reported() -> None:
    world = World(row(1), refresh={"interval": "1 h", "target_lag": "90 min"})
    world.run()
    world.lake.append(INPUT, [row(2)])
    world.refreshes.suspend(NAME, "we look into it")
    world.ports.clock.sleep(7200)
    with _listening() as found, pytest.raises(AirflowSkipException):
        check_due_by_schedule(world)
    assert [(m["name"], _tags(m["tags"]).get("outcome")) for m in found if m["kind"] == "c"] == [
        ("refresh.run_total", "skipped")
    ]
    reported = {m["name"]: float(m["value"]) for m in found if m["kind"] == "g"}
    assert reported["refresh.lag_seconds"] >= 7200 and reported["refresh.late"] == 1
    assert reported["refresh.target_lag_seconds"] == 5400
    assert reported["refresh.retention_left_seconds"] == 30 * 86400 - 7200  # as long as log files are kept


def test_what_refreshes_change_is_counted_by_change_and_by_way(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    dag = airflow.dag(SINGLE.format(definition=shared.definition))
    with _listening() as found:
        airflow.run(dag)
        shared.world.become(row(0, "b"), *[row(i) for i in range(2, 9)], row(20))
        airflow.run(dag)
        airflow.run(dag)

    every = [(m["name"], int(m["value"]), _tags(m["tags"])) for m in found if m["kind"] == "c"]
    sizes = [(name, size > 0, tags) for name, size, tags in every if name.startswith("refresh.bytes_")]
    counted = [one for one in every if not one[0].startswith("refresh.bytes_")]
    mine = {"definition": NAME}
    ended = {name: mine | {"change": name} for name in ("inserted", "updated", "deleted")}
    full = mine | {"mode": "full", "outcome": "succeeded"}
    assert counted == [
        ("refresh.chunks", 1, mine | {"stage": "merge"}),
        ("refresh.run_total", 1, full | {"reason": "first_refresh"}),
        ("refresh.rows", 9, ended["inserted"]),
        ("refresh.chunks", 1, mine | {"stage": "merge"}),
        ("refresh.run_total", 1, full | {"reason": "mode_full"}),
        ("refresh.rows", 1, ended["inserted"]),
        ("refresh.rows", 1, ended["updated"]),
        ("refresh.rows", 1, ended["deleted"]),
        ("refresh.run_total", 1, mine | {"mode": "none", "reason": "none", "outcome": "nothing_to_do"}),
    ]
    assert sizes == [("refresh.bytes_to_read", True, mine), ("refresh.bytes_written", True, mine)] * 2
    gauges = [(m["name"], float(m["value"])) for m in found if m["kind"] == "g"]
    assert gauges == [("refresh.lag_seconds", 0), ("refresh.late", 0)] * 2
    timed = [(m["name"], float(m["value"]) >= 0, set(_tags(m["tags"]))) for m in found if m["kind"] == "ms"]
    chunk = ("refresh.chunk_seconds", True, {"definition", "way"})
    refresh, in_spark = (("refresh." + name, True, {"definition"}) for name in ("seconds", "spark_seconds"))
    assert timed == [chunk, refresh, in_spark] * 2 + [refresh]


def test_every_documented_metric_arrives(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(mode="incremental", refresh={"interval": "1 h", "target_lag": "90 min"})
    dag, world = airflow.dag(SINGLE.format(definition=shared.definition)), shared.world
    with _listening() as found:
        airflow.run(dag)
        world.lake.append(TARGET, [row(99)])  # another writer
        airflow.run(dag)
        world.lake.append(INPUT, [row(50)])
        with at(world.lake, "begin /gold", taken_over(world)):
            assert airflow.run(dag).tasks["refresh"] == "failed"
        world.lake.append(INPUT, [row(51)])
        with at(world.lake, "begin /gold", disconnected):
            airflow.run(dag)
        airflow.run(dag)
        world.lake.append(INPUT, [row(52)])
        check_due_by_schedule(world)

    documented = {(m["name"], KINDS[m["kind"]]) for m in ROW.finditer(DOCS.read_text())}
    assert {(m["name"], m["kind"]) for m in found} == documented
    by_name = {m["name"]: _tags(m["tags"]) for m in found}
    assert by_name["refresh.fallback_total"] == {"definition": NAME, "reason": "target_changed"}
    counts = [m["name"] for m in found if m["name"] in ("refresh.fenced_total", "refresh.resume_total")]
    assert counts == ["refresh.fenced_total", "refresh.resume_total"]
    outcomes = [_tags(m["tags"]) for m in found if m["name"] == "refresh.run_total"]
    assert [tags["reason"] for tags in outcomes if tags["outcome"] == "failed"] == ["lost_lease", "connection_lost"]


def taken_over(world: World) -> Callable[[], BaseException]:
    """Another owner takes the run over, while a statement of the task is under way, which then fails."""

    def strike() -> BaseException:
        world.another(Request(workers=1, take_over=True))
        return disconnected()

    return strike


def test_with_plain_names_the_tags_follow_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "True")
    world = World(row(1))
    with _listening(PLAIN) as found:
        metrics.ended(world.run().model_copy(update={"name": "sales.orders"}))
    assert {m["name"] for m in found} >= {
        "refresh.run_total.sales__orders.full.first_refresh.succeeded",
        "refresh.rows.sales__orders.inserted",
        "refresh.lag_seconds.sales__orders",
        "refresh.seconds.sales__orders",
    }


def test_a_mapped_task_says_in_which_stage_it_is(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(**BY_VNODE)
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    with _listening() as found:
        airflow.run(dag)
    stages = {_tags(m["tags"]).get("stage") for m in found if m["name"] == "refresh.chunks"}
    assert stages == {"merge"}


def test_what_was_applied_before_a_resume_is_neither_counted_nor_logged_again(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(**BY_VNODE)
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    reported: list[list[tuple[str, ...]]] = []
    with _listening() as found:
        for fault in (5, 99):
            with task_log() as said, at(shared.world.lake, "begin /gold", disconnected, nth=fault):
                seen = airflow.run(dag)
            reported.append([chunk.groups() for line in said if (chunk := CHUNK.fullmatch(line))])
    result = seen.returned["finish"]
    assert (result["resumed"], result["rows"]["inserted"]) == (True, 9)

    sums = dict.fromkeys(("refresh.chunks", "refresh.rows", "refresh.resume_total"), 0)
    for m in (m for m in found if m["name"] in sums):
        sums[m["name"]] += int(m["value"])
    assert sums == {"refresh.chunks": result["chunks"]["done"], "refresh.rows": 9, "refresh.resume_total": 1}
    first, second = reported
    assert len(set(first + second)) == len(first) + len(second) == result["chunks"]["done"]
    assert {(run, way) for run, _unit, _chunk, way in first + second} == {(result["run_id"], "append")}
    before = [int(found_in[1]) for line in said if (found_in := BEFORE.fullmatch(line))]
    assert sum(before) == len(first) == sum(seen.returned[f"merge[{i}]"]["skipped"] for i in range(4))


def test_tries_that_end_with_an_error_are_counted_by_what_it_asks_for(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(max_delete_ratio=0.5, **BY_VNODE)
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(9)])

    def stopped() -> BaseException:
        return Interrupted("interrupted", "the task was asked to stop", left="as it was", next="run again")

    with _listening() as found:
        with at(shared.world.lake, "begin /gold", disconnected):
            airflow.run(dag)
        with at(shared.world.lake, "begin /gold", stopped):
            airflow.run(dag)
        airflow.run(dag)
        shared.world.become(row(1))
        airflow.run(dag)
    ended = [_tags(m["tags"]) for m in found if m["name"] == "refresh.run_total"]
    assert {tags["definition"] for tags in ended} == {NAME}
    assert [tags["outcome"] for tags in ended] == ["failed", "interrupted", "succeeded", "refused"]
