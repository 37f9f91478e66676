"""Sensors, in a worker and in the triggerer: they see what the control tables say and touch nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk.bases.operator import TriggerFailureReason
from airflow.sdk.exceptions import AirflowSensorTimeout, AirflowSkipException, TaskDeferred
from airflow.triggers.base import TriggerEvent

from airflow_refresh_provider.errors import Failed, Invalid, Retry
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.sensors.refresh_sensors import (
    RefreshFreshnessSensor,
    RefreshPublishedSensor,
    RefreshStateSensor,
)
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from airflow_refresh_provider.triggers import refresh_trigger as triggers
from airflow_refresh_provider.triggers.refresh_trigger import Condition, RefreshTrigger
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.faults import Killed, at, not_accepted
from tests.unit.runner.world import INPUT, NAME, TARGET, row

DAG = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.sensors.refresh_sensors import RefreshPublishedSensor, RefreshStateSensor
with DAG("waits_{name}", schedule=None, start_date=datetime(2024, 1, 1)):
    common = dict(definition="orders", poke_interval=1, timeout=3, deferrable={deferrable})
    RefreshStateSensor(task_id="idle", **common)
    RefreshPublishedSensor(task_id="published", published_after="2000-01-01T00:00:00+00:00", **common)
"""
PLACES = Places(control="/memory", spark="local", spark_home="/memory/.spark")


@pytest.mark.parametrize("deferrable", [False, True])
def test_what_is_so_already_is_seen_at_once(airflow: Airflow, share: Callable[..., Shared], deferrable: bool) -> None:
    shared = share()
    published = shared.world.run().published_version
    seen = airflow.run(airflow.dag(DAG.format(name=f"at_once_{deferrable}", deferrable=deferrable)))
    assert seen.tasks == {"idle": "success", "published": "success"}
    assert seen.returned["published"]["published_version"] == published
    assert seen.returned["idle"]["state"] == "IDLE"


def test_waiting_ends(airflow: Airflow, share: Callable[..., Shared]) -> None:
    share()
    seen = airflow.run(airflow.dag(DAG.format(name="ends", deferrable=False)))
    assert seen.tasks == {"idle": "success", "published": "failed"}


def test_a_trigger_fires_when_the_condition_is_met_and_survives_serialisation(share: Callable[..., Shared]) -> None:
    shared = share()
    with at(shared.world.lake, "commit /gold"), pytest.raises(Killed):
        shared.world.run()
    trigger = triggers.trigger_for(NAME, PLACES, Condition(states=("IDLE",)), 0.05)
    path, arguments = trigger.serialize()
    assert path == "airflow_refresh_provider.triggers.refresh_trigger.RefreshTrigger"

    async def waited() -> TriggerEvent:
        events = RefreshTrigger(**arguments).run()
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.2)
        assert not first.done()
        shared.world.die(shared.world.ports)
        await asyncio.to_thread(shared.world.another)
        return await asyncio.wait_for(first, 10)

    assert asyncio.run(waited()).payload["published_version"] == shared.world.refreshes.show(NAME).published_version


def test_what_is_returned_says_how_the_last_run_ended(share: Callable[..., Shared]) -> None:
    shared = share()
    assert triggers.seen(shared.world.refreshes.stored(NAME))["last_run"] is None
    shared.world.run()
    shared.world.become(row(1, "z"))
    with at(shared.world.lake, "begin /gold", not_accepted), pytest.raises(Failed):
        shared.world.run()
    last = triggers.seen(shared.world.refreshes.stored(NAME))["last_run"]
    assert (last["outcome"], last["code"]) == ("failed", "constraint_violated")
    assert "the target does not accept a row" in last["reason"]


def test_a_condition_on_a_publication_compares_its_time(share: Callable[..., Shared]) -> None:
    shared = share()
    never = shared.world.refreshes.show(NAME)
    assert not Condition(published_after="2000-01-01T00:00:00+00:00").is_met(never)
    shared.world.become(row(1))
    shared.world.run()
    status = shared.world.refreshes.show(NAME)
    assert status.published_at is not None
    assert Condition(published_after="2000-01-01T00:00:00+00:00").is_met(status)
    assert not Condition(published_after=status.published_at.isoformat()).is_met(status)
    assert not Condition(states=("FINISHING",), published_after="2000-01-01T00:00:00+00:00").is_met(status)


@pytest.mark.parametrize(
    ("sensor", "given", "reported"),
    [
        (RefreshStateSensor, {"states": ["SLEEPING"]}, "some of IDLE, REFRESHING, FINISHING, RESETTING"),
        (RefreshStateSensor, {"states": []}, "some of IDLE, REFRESHING, FINISHING, RESETTING"),
        (RefreshPublishedSensor, {"published_after": "yesterday"}, "such as 2024-01-31T06:00:00"),
        (RefreshPublishedSensor, {"published_after": "2024-01-01T00:00:00"}, "with its time zone"),
        (RefreshPublishedSensor, {"published_after": 5}, "with its time zone"),
        *((RefreshFreshnessSensor, {"max_lag": lag}, "max_lag must be") for lag in ("soon", "5", -1, True, None, 1e99)),
        (RefreshFreshnessSensor, {"max_lag": float("nan")}, "text such as 15 minutes"),
    ],
)
def test_a_wrong_argument_is_refused_where_the_dag_is_written(
    sensor: Any, given: dict[str, Any], reported: str
) -> None:
    with pytest.raises(Invalid, match=reported) as refused:
        sensor(task_id="t", definition="d", **given)
    assert repr(next(iter(given.values()))) in refused.value.message


@pytest.mark.parametrize("lag", ["5 minutes", "PT5M", 300, 300.0, timedelta(minutes=5)])
def test_a_lag_is_written_as_everywhere(lag: Any) -> None:
    assert RefreshFreshnessSensor(task_id="t", definition="d", max_lag=lag).condition().max_lag == 300


def test_a_template_is_looked_at_when_it_is_rendered() -> None:
    sensor = RefreshPublishedSensor(task_id="t", definition="d", published_after="{{ ds }}")
    sensor.render_template_fields({"ds": "2024-01-31"})
    with pytest.raises(Invalid, match="with its time zone"):
        sensor.condition()
    sensor = RefreshPublishedSensor(task_id="t", definition="d", published_after=BEGINNING)
    assert sensor.condition().published_after == BEGINNING.isoformat()
    assert RefreshStateSensor(task_id="t", definition="d", states="IDLE").condition().states == ("IDLE",)


def test_places_go_to_the_triggerer_as_plain_text() -> None:
    arguments = triggers.trigger_for(NAME, PLACES, Condition(), 1).serialize()[1]
    assert arguments["places"] == asdict(PLACES)


def test_freshness_is_waited_for(share: Callable[..., Shared]) -> None:
    shared = share()
    condition = RefreshFreshnessSensor(task_id="t", definition=NAME, max_lag=timedelta(minutes=5)).condition()
    assert triggers.look(PLACES, NAME, condition)[0] is False  # never refreshed
    shared.world.run()
    shared.world.lake.append(INPUT, [row(20)])
    newest = shared.world.lake.table(INPUT).newest.commit.version
    for minutes, is_met in ((4, True), (6, False)):
        shared.world.lake.times[INPUT, newest] = BEGINNING - timedelta(minutes=minutes)
        done, found = triggers.look(PLACES, NAME, condition)
        assert (done, found["lag_seconds"]) == (is_met, minutes * 60)


def test_no_change_waits_means_that_none_does_however_a_clock_has_dated_it(share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.run()
    condition = RefreshFreshnessSensor(task_id="t", definition=NAME).condition()
    assert triggers.look(PLACES, NAME, condition)[0] is True
    shared.world.lake.append(INPUT, [row(20)])
    newest = shared.world.lake.table(INPUT).newest.commit.version
    shared.world.lake.times[INPUT, newest] = BEGINNING + timedelta(seconds=2)
    assert triggers.look(PLACES, NAME, condition)[0] is False


def test_a_target_that_another_writer_has_changed_is_not_fresh(share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.run()
    condition = RefreshFreshnessSensor(task_id="t", definition=NAME).condition()
    assert triggers.look(PLACES, NAME, condition)[0] is True
    shared.world.lake.append(TARGET, [{**row(20), "_vnode": 0, "_row_hash": 0}])
    assert triggers.look(PLACES, NAME, condition)[0] is False


def test_a_look_that_fails_for_a_while_is_one_in_vain(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.run()
    failures = iter([True])

    def look() -> None:
        for _ in failures:
            raise Retry("storage_failed", "the storage does not answer", left="as it was", next="wait")

    shared.look = look
    seen = airflow.run(airflow.dag(DAG.format(name="in_vain", deferrable=False)))
    assert seen.tasks == {"idle": "success", "published": "success"}
    assert next(failures, None) is None


WAITING = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.sensors.refresh_sensors import RefreshPublishedSensor, RefreshStateSensor
with DAG("waits_away_{name}", schedule=None, start_date=datetime(2024, 1, 1)):
    {sensor}(task_id="waits", definition="orders", poke_interval=0.1, deferrable=True, **{arguments!r})
"""


@pytest.mark.parametrize(
    ("sensor", "arguments"),
    [("RefreshStateSensor", {}), ("RefreshPublishedSensor", {"published_after": "2000-01-01T00:00:00+00:00"})],
)
def test_what_is_not_so_yet_is_waited_for_in_the_triggerer(
    airflow: Airflow, share: Callable[..., Shared], sensor: str, arguments: dict[str, str]
) -> None:
    shared = share()
    with at(shared.world.lake, "commit /gold"), pytest.raises(Killed):
        shared.world.run()
    in_the_worker: list[bool] = []

    def look() -> None:
        in_the_worker.append(threading.current_thread() is threading.main_thread())
        if len(in_the_worker) == 3:
            shared.world.die(shared.world.ports)
            shared.world.another()

    shared.look = look
    seen = airflow.run(airflow.dag(WAITING.format(name=sensor, sensor=sensor, arguments=arguments)))
    assert seen.tasks == {"waits": "success"}
    assert in_the_worker == [True, False, False]
    published = shared.world.record.published
    assert published is not None
    returned = seen.returned["waits"]
    assert (returned["state"], returned["published_version"]) == ("IDLE", published.version)


@pytest.mark.parametrize(("soft_fail", "end"), [(False, AirflowSensorTimeout), (True, AirflowSkipException)])
def test_a_wait_in_the_triggerer_ends_with_the_sensors_time(
    share: Callable[..., Shared], soft_fail: bool, end: type[Exception]
) -> None:
    share()
    given: dict[str, Any] = {"definition": NAME, "timeout": 300, "poke_interval": 7, "soft_fail": soft_fail}
    sensor = RefreshPublishedSensor(task_id="t", published_after=BEGINNING, deferrable=True, **given)
    with pytest.raises(TaskDeferred) as waits:
        sensor.execute({})
    assert waits.value.timeout == timedelta(seconds=300)
    assert waits.value.trigger.serialize()[1] == {
        "name": NAME,
        "places": {"control": "/memory", "spark": "local", "spark_home": "/memory/.spark"},
        "condition": asdict(Condition(published_after=BEGINNING.isoformat())),
        "every": 7,
    }
    seen = {"published_version": 3}
    assert sensor.resume_execution(waits.value.method_name, {"event": seen}, {}) == seen
    with pytest.raises(end):
        sensor.resume_execution("__fail__", {"error": TriggerFailureReason.TRIGGER_TIMEOUT}, {})
