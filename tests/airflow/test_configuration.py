"""The section `refresh` of airflow.cfg: its defaults, and that what is set there is heeded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_refresh_provider.hooks import configuration
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}))
"""


def test_defaults_are_those_of_the_metadata() -> None:
    assert configuration.retrying() == {"retries": 3, "retry_delay": timedelta(seconds=15)}
    assert configuration.poll_interval() == 10.0


@pytest.mark.usefixtures("_metadata")
def test_airflow_itself_knows_the_section() -> None:
    from airflow.configuration import conf

    assert conf.get("refresh", "retries") == "3"


def test_what_is_set_is_heeded_by_every_dag(
    airflow: Airflow, share: Callable[..., Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__REFRESH__RETRIES", "7")
    monkeypatch.setenv("AIRFLOW__REFRESH__RETRY_DELAY", "1.5")
    monkeypatch.setenv("AIRFLOW__REFRESH__POLL_INTERVAL", "2")
    dag = airflow.dag(PHASED.format(definition=share().definition))
    assert {(task.retries, task.retry_delay) for task in dag.tasks} == {(7, timedelta(seconds=1.5))}
    assert configuration.poll_interval() == 2.0
