"""Callbacks of tasks send one message through any notifier: of failures, suspensions, lateness, retention."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.airflow.conftest import Airflow
from tests.airflow.recording import SENT
from tests.airflow.shared import Shared
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, row

NOTIFYING = """
from airflow_refresh_provider import Definition, RefreshNotifier, refresh_dag
from tests.airflow.recording import Recording
notifier = RefreshNotifier(Recording("{{{{ refresh.about }}}} | {{{{ refresh.text }}}}"){more})
refresh_dag(Definition.model_validate({definition!r}), default_args=notifier.callbacks | {{"retries": 0}})
"""
WATCHING = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshFreshnessSensor, RefreshNotifier
from tests.airflow.recording import Recording
with DAG("watching", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshFreshnessSensor(
        task_id="fresh", definition="orders", timeout=0, poke_interval=0.1, retries=0,
        **RefreshNotifier(Recording("{{ refresh.title }}")).callbacks,
    )
"""


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


def test_a_failure_is_sent_once_with_the_page_and_a_success_is_not(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    dag = airflow.dag(NOTIFYING.format(definition=shared.definition, more=""))
    airflow.run(dag)
    assert SENT == []
    shared.world.lake.append(INPUT, [row(1, "again")])
    airflow.run(dag)
    [sent] = SENT
    assert sent.startswith("failure | orders: failure [duplicate_key]\n")
    assert sent.endswith("\nSee: /plugin/refreshes/refreshes/definitions/orders")
    shared.world.become(row(1))
    with at(shared.world.lake, "begin /gold", disconnected):
        airflow.run(dag)
    assert [text.splitlines()[0] for text in SENT[1:]] == ["failure | orders: failure [connection_lost]"]


def test_a_task_that_ends_with_an_error_of_its_environment_is_sent_too(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    with at(shared.world.lake, "begin /gold", disconnected):
        airflow.run(airflow.dag(NOTIFYING.format(definition=shared.definition, more="")))
    [sent] = SENT
    assert "[connection_lost]" in sent and "Is a clear safe: yes: it continues after the last chunk" in sent


def test_a_run_of_a_suspended_definition_is_sent_and_one_with_nothing_to_do_is_not(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(refresh={"interval": "1 h"})
    dag = airflow.dag(NOTIFYING.format(definition=shared.definition, more=""))
    shared.world.run()
    airflow.run(dag)
    assert SENT == []
    shared.world.refreshes.suspend("orders", "we look into it")
    airflow.run(dag)
    assert [sent.partition(" | ")[0] for sent in SENT] == ["suspension"]


def test_what_is_sent_can_be_narrowed(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.lake.append(INPUT, [row(1, "again")])
    airflow.run(airflow.dag(NOTIFYING.format(definition=shared.definition, more=", about=['lateness']")))
    assert SENT == []


def test_a_sensor_that_waits_in_vain_sends_that_the_table_is_late(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(refresh={"interval": "1 h", "target_lag": "90 min"})
    shared.world.run()
    shared.world.lake.append(INPUT, [row(50)])
    shared.passed = 7200
    assert airflow.run(airflow.dag(WATCHING)).tasks["fresh"] == "failed"
    assert SENT == ["orders: lateness [late]"]
