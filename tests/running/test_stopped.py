"""Tasks that are stopped while Spark works at a statement of theirs: it ends there too, and the next run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psutil
import pytest

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions
from tests.frugal import FRUGAL, INTERPRETED
from tests.running.site import until
from tests.running.table import Table

_MANY = "orders AS a CROSS JOIN orders AS b CROSS JOIN orders AS c CROSS JOIN orders AS d"
_MORE = " ".join(f"CROSS JOIN orders AS o{n}" for n in range(5))
_LARGEST = f"SELECT max(m.id * o0.amount) AS n FROM (SELECT /*+ REPARTITION(10000) */ a.id FROM {_MANY}) AS m {_MORE}"
SLOW = f"SELECT id, amount * 2 AS doubled FROM orders CROSS JOIN ({_LARGEST}) AS largest WHERE n > 0"
"""Ten thousand tasks of some tenths of a second: Spark ends a statement between two, not within one that computes."""
_SAMPLE_SECONDS = 2

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server of its own: on the one that tests share others may be at work when the statement has ended."""
    options = ServerOptions(memory="1g", java_options=FRUGAL, extra_conf=INTERPRETED)
    server = EmbeddedServer(tmp_path_factory.mktemp("spark"), options)
    yield server.ensure()
    server.stop()


def _terminated(table: Table, run_id: str) -> None:
    pid = table.tasks(run_id)["load"].pid
    assert pid is not None
    psutil.Process(pid).terminate()


def _marked(table: Table, run_id: str) -> None:
    table.acts.mark_task(table.dag_id, run_id, "load", -1, "failed")


def _left_alone(_table: Table, _run_id: str) -> None:
    pass


@pytest.mark.parametrize(
    ("stop", "limit"),
    [(_terminated, 600), (_marked, 600), (_left_alone, 60)],
    ids=["SIGTERM", "marked as failed", "execution_timeout"],
)
def test_a_task_that_is_stopped_in_a_slow_statement_ends_it(
    table: Table, spark_server: Endpoint, stop: Callable[[Table, str], None], limit: int
) -> None:
    table.deploy(f"default_args={{'retries': 0, 'execution_timeout': timedelta(seconds={limit})}}", query=SLOW)
    published = table.published
    run_id = table.trigger()
    until(lambda: table.states(run_id)["load"] == "running", "a load")
    until(lambda: "compare" in table.acts.log(table.dag_id, run_id, "load", 1), "a comparison")
    until(lambda: _cores(spark_server) > 0.3, "work for Spark")
    stop(table, run_id)

    assert table.ended(run_id) == "failed"
    assert table.states(run_id)["load"] == "failed"
    until(lambda: _cores(spark_server) < 0.1, "the end of the statement")
    assert table.published == published
    table.register()  # the query that is over in a moment
    assert table.healed()


def _cores(server: Endpoint) -> float:
    """How many cores a server keeps busy."""
    port = urlsplit(server.url).port
    listening = (c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
    [pid] = {c.pid for c in listening if getattr(c.laddr, "port", None) == port}
    process = psutil.Process(pid)
    before = process.cpu_times()
    time.sleep(_SAMPLE_SECONDS)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / _SAMPLE_SECONDS
