"""Refreshes as applications of a real standalone cluster: resumed and fenced from one driver to the next."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.process import try_lock
from tests.airflow.cluster import Cluster
from tests.airflow.conftest import Airflow, DagRunSeen
from tests.airflow.site import Site, driver_of, jar_of, kill_the_driver
from tests.crash import points
from tests.crash.holds import Hold
from tests.crash.jvm import compile_java
from tests.crash.lake import NAME, PLAIN, Lake
from tests.crash.points import AFTER, BEFORE

DAG_FILE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshSubmitOperator
with DAG("submitted", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshSubmitOperator(task_id="refresh", definition={definition!r}, submit_options={options!r})
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster") / "cluster", find(os.environ))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Site]:
    """A site whose definition is registered, and once refreshed by hand."""
    folder = tmp_path_factory.mktemp("site")
    lake = Lake(folder, PLAIN)
    lake.change(files=4)
    site = Site(folder, lake, cluster, jar_of(compile_java(folder / "classes"), folder / "holding.jar"))
    site.holds.mkdir()
    site.refreshes().register(lake.definition())
    try:
        ended = site.by_hand().ended()
        assert ended.code == 0, ended.out + ended.err
        site.ended(ended)
        yield site
    finally:
        site.clear()


@pytest.fixture
def site(loaded: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site with an input that has moved since."""
    spark = {"conn_type": "spark", "host": loaded.cluster.host, "port": loaded.cluster.port}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("AIRFLOW_REFRESH_CONTROL", loaded.control)
    before = signal.getsignal(signal.SIGTERM)
    loaded.cluster.make_whole()
    loaded.lake.change()
    yield loaded
    loaded.clear()
    signal.signal(signal.SIGTERM, before)


def run(airflow: Airflow, site: Site) -> DagRunSeen:
    """A DAG run of one task that submits."""
    definition = site.lake.definition().model_dump(mode="json", exclude_unset=True)
    return airflow.run(airflow.dag(DAG_FILE.format(definition=definition, options=site.options)))


@pytest.mark.slow
def test_a_refresh_goes_on_when_a_worker_dies_in_its_middle(airflow: Airflow, site: Site) -> None:
    with site.struck(points.chunk(2, BEFORE), site.cluster.kill_a_worker):
        seen = run(airflow, site)
    assert seen.tasks == {"refresh": "success"}
    site.ended(seen)
    assert run(airflow, site).tasks == {"refresh": "skipped"}


@pytest.mark.slow
def test_a_driver_that_was_killed_and_one_that_was_stopped_are_gone_on_with(airflow: Airflow, site: Site) -> None:
    with site.struck(points.chunk(1, AFTER), kill_the_driver):
        assert run(airflow, site).tasks == {"refresh": "failed"}
    with site.struck(points.chunk(2, AFTER), lambda: os.kill(os.getpid(), signal.SIGTERM)):
        assert run(airflow, site).tasks == {"refresh": "failed"}
    assert driver_of(os.getpid()) == []

    seen = run(airflow, site)

    assert seen.tasks == {"refresh": "success"}
    assert seen.returned["refresh"]["resumed"]
    assert seen.returned["refresh"]["chunks"]["skipped"] >= 2
    site.ended(seen)


@pytest.mark.slow
def test_a_driver_that_slept_while_another_finished_changes_nothing_when_it_wakes_up(site: Site) -> None:
    hold = Hold(site.holds, "asleep")
    hold.arm(points.chunk(2, BEFORE))
    first = site.by_hand("--origin", "a DAG run")
    hold.wait_until_held()
    asleep = driver_of(first.pid)
    assert len(asleep) == 2
    for process in asleep:
        process.suspend()

    second = site.by_hand("--origin", "a DAG run").ended()
    assert second.code == 0, second.out
    hold.release()
    for process in asleep:
        process.resume()
    woken = first.ended()

    assert (woken.code, json.loads(woken.out.splitlines()[-1])["error"]["code"]) == (1, "lost_lease")
    site.ended(second)


@pytest.mark.slow
def test_an_application_and_an_embedded_server_do_not_write_one_disk_together(site: Site) -> None:
    before = site.refreshes().stored(NAME)
    lock = try_lock(Path(site.control, ".spark", "writer.lock"))
    assert lock is not None
    try:
        refused = site.by_hand().ended()
    finally:
        os.close(lock)
    assert (refused.code, json.loads(refused.out.splitlines()[-1])["error"]["code"]) == (3, "embedded_server_runs")
    assert site.refreshes().stored(NAME) == before
