"""Which errors let Airflow retry a task: those of which another try may find nothing any more."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Failed, Interrupted, Invalid, RefreshError, Refused, Retry
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.task_context.binding import as_airflow_errors
from tests.unit.runner.world import NAME, World, row


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (Retry("spark_unreachable", "no answer", left="-", next="-"), True),
        (Interrupted("interrupted", "stopped", left="-", next="-"), True),
        (Refused("suspended", "suspended", next="-"), False),
        (Failed("target_missing", "gone", left="-", next="-"), False),
        (Invalid("usage", "wrong", next="-"), False),
    ],
    ids=lambda given: getattr(given, "code", str(given)),
)
def test_a_retry_helps_where_the_environment_failed(error: RefreshError | Interrupted, retried: bool) -> None:
    with pytest.raises(AirflowException) as raised, as_airflow_errors():
        raise error
    assert isinstance(raised.value, AirflowFailException) != retried


def test_a_run_that_another_owner_holds_may_have_ended_at_the_next_try() -> None:
    world = World(row(1))
    other = world.process()
    one_task.start(other, NAME, Request(origin="elsewhere another run"))
    with pytest.raises(AirflowException) as raised, as_airflow_errors():
        world.another()
    assert not isinstance(raised.value, AirflowFailException)
    assert "is being refreshed by" in str(raised.value)
