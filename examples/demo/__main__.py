"""A refresh in Airflow that is killed half way and resumed: `make demo`.

Airflow keeps a table of open orders fresh, made from TPC-H. After the first refresh one order in ten changes;
the second refresh loses a merge task and the Spark server to SIGKILL in the middle, and Airflow retries. In the
end every guarantee is checked, with plain Spark SQL and the log of the table.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from examples.demo import evidence
from examples.demo.dag_run import DagRun
from examples.demo.kill import kill_in_the_middle
from examples.demo.screen import chapter, say
from examples.demo.verdict import Found, UnitSeen, show
from examples.lake import Lake, change_orders, make
from examples.local_airflow import WITHOUT_TRIGGERER, LocalAirflow, free_port, running
from examples.processes import heed_signals, must_be_alone
from examples.rest import USER

CHECKOUT = Path(__file__).parents[2]
SCALE = 0.1
NAME = "tpch.open_orders"
DAG = f"refresh.{NAME}"
COLUMNS = "o_orderkey, o_custkey, o_totalprice, o_orderdate, o_orderpriority"
RESULT = f"SELECT {COLUMNS} FROM %s WHERE o_orderstatus = 'O'"


def main() -> int:
    """Run the demo; the exit code says whether every guarantee was kept."""
    heed_signals()
    lake = Lake(CHECKOUT / ".demo")
    must_be_alone(lake.root)
    shutil.rmtree(lake.root, ignore_errors=True)
    chapter("Airflow starts, TPC-H data is made")
    # Only DAG runs that are triggered here: a scheduled one could start between two steps.
    settings = {"AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False"}
    with running(lake, CHECKOUT / "dags", free_port(), WITHOUT_TRIGGERER, **settings) as airflow:
        make(lake, SCALE)
        # Spark starts while Airflow does, and its downloads are not part of the first refresh.
        airflow.spark_url()
        if errors := airflow.await_ready(DAG):
            sys.exit("\n".join(errors))
        say(f"Airflow is at {airflow.url} (user {USER}, password {airflow.password}) until the demo ends")
        return 0 if _story(lake, airflow) else 1


def _story(lake: Lake, airflow: LocalAirflow) -> bool:
    chapter(f"First refresh: the DAG {DAG} is triggered")
    airflow.rest.unpause(DAG)
    first = DagRun(airflow.rest, DAG)
    first.await_success()
    loaded = first.returned("finish")
    rows = loaded["rows"]["inserted"]
    say(f"{rows:,} rows, published as version {loaded['published_version']}")

    chapter("One order in ten changes")
    before = evidence.newest_version(lake.orders)
    change_orders(lake, one_in=10)
    now = RESULT % f"delta.`{lake.orders}`"
    with evidence.spark_at(airflow.spark_url()) as spark:
        expected = evidence.differing(spark, now, RESULT % f"delta.`{lake.orders}` VERSION AS OF {before}")
    say(f"{expected:,} rows of the query's result are new or different")

    chapter("Second refresh, killed in the middle")
    target_before = evidence.newest_version(lake.open_orders)
    second = DagRun(airflow.rest, DAG)
    in_at_kill = kill_in_the_middle(second, airflow.places, NAME)
    second.await_success()
    refreshed = second.returned("finish")
    # `make up` shows the same DAG, paused like the others.
    airflow.rest.pause(DAG)

    chapter("The result")
    with evidence.spark_at(airflow.spark_url()) as spark:
        table = f"SELECT {COLUMNS} FROM delta.`{lake.open_orders}` VERSION AS OF {refreshed['published_version']}"
        differences = evidence.differing(spark, now, table) + evidence.differing(spark, table, now)
    written = evidence.written(lake.open_orders, target_before)
    return show(Found(_units(second), in_at_kill, rows, refreshed, expected, differences, written))


def _units(run: DagRun) -> list[UnitSeen]:
    """The merge tasks of a run that succeeded."""
    merged = [task for task in run.tasks() if task.task_id == "merge"]
    return [UnitSeen(**run.returned("merge", task.map_index), tries=task.tries) for task in merged]


if __name__ == "__main__":
    sys.exit(main())
