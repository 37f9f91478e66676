"""Sessions on a real server: opened under chosen ids, released with their statements by others."""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.faults import translated
from airflow_refresh_provider.spark.connect.sessions import SESSION_CONFS, close, connect, release

_FOR_EVER = "SELECT sum(a.id * b.id % 7) FROM range(10000000) a CROSS JOIN range(1000000) b"

Open = Callable[[], Any]
"""Opens a Connect session, which has more than the type that pyspark declares for all sessions."""


def _started(session: Any) -> threading.Event:
    """Set when Spark reports progress of the session's statement."""
    started = threading.Event()
    session.client.register_progress_handler(lambda **_: started.set())
    return started


def _run(session: Any, ended: list[str]) -> threading.Thread:
    def statement() -> None:
        try:
            with translated(Doing(left="")):
                session.sql(_FOR_EVER).collect()
        except Retry as error:
            ended.append(error.code)

    thread = threading.Thread(target=statement, daemon=True)
    thread.start()
    return thread


def test_a_session_has_the_confs_that_the_engine_relies_on(open_session: Open) -> None:
    session = open_session()

    assert {name: session.conf.get(name) for name in SESSION_CONFS} == SESSION_CONFS


@pytest.mark.timeout(120)
@pytest.mark.parametrize("moment", [0.0, 0.1, 0.3])
def test_any_session_ends_a_statement_of_another_session(
    open_session: Open, spark_server: Endpoint, moment: float
) -> None:
    session = open_session()
    ended: list[str] = []
    started, thread = _started(session), _run(session, ended)
    assert started.wait(30)
    time.sleep(moment)  # Spark loses an interruption between two stages now and then

    release(spark_server, session.session_id)

    thread.join(30)
    assert len(ended) == 1
    # Which of the two a client hears depends on whether its stream or its session is taken down first.
    assert ended[0] in {"statement_cancelled", "session_lost"}
    assert open_session().sql("SELECT count(*) FROM range(0, 100, 1, 2)").first() == (100,), "its cores are not free"


def test_a_released_session_is_lost_to_all_clients(open_session: Open, spark_server: Endpoint) -> None:
    session = open_session()
    release(spark_server, session.session_id)
    release(spark_server, session.session_id)

    with pytest.raises(Retry) as lost, translated(Doing(left="")):
        session.sql("SELECT 1").collect()
    with pytest.raises(Retry) as refused:
        connect(spark_server, session.session_id)

    assert {lost.value.code, refused.value.code} == {"session_lost"}


def test_an_id_released_before_it_was_ever_opened_cannot_be_opened(spark_server: Endpoint) -> None:
    session_id = str(uuid.uuid4())

    release(spark_server, session_id)

    with pytest.raises(Retry) as refused:
        connect(spark_server, session_id)
    assert refused.value.code == "session_lost"


def test_closing_twice_is_closing_once(open_session: Open) -> None:
    session = open_session()

    close(session)
    close(session)

    assert session.is_stopped


@pytest.mark.timeout(30)
def test_a_port_without_a_listener_is_unreachable_and_has_nothing_to_release() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = Endpoint(f"sc://127.0.0.1:{unused.getsockname()[1]}/;token=secret")

        with pytest.raises(Retry) as error:
            connect(endpoint, str(uuid.uuid4()))
        release(endpoint, str(uuid.uuid4()))

    assert error.value.code == "spark_unreachable"
    assert "secret" not in error.value.message


@pytest.mark.timeout(30)
def test_something_that_accepts_connections_and_says_nothing_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(Retry) as error:
        connect(Endpoint(f"sc://127.0.0.1:{mute.getsockname()[1]}"), str(uuid.uuid4()))

    assert error.value.code == "spark_unreachable"
