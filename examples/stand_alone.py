"""Airflow with the example DAGs, to try things in: `make up`. Ctrl-C or `make down` stops all that it started."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from pathlib import Path

from airflow_refresh_provider.places import CONTROL_VARIABLE
from examples.lake import Lake, make
from examples.local_airflow import CONNECTION, free_port, running
from examples.processes import Stopped, heed_signals, must_be_alone
from examples.rest import USER

CHECKOUT = Path(__file__).parents[1]
SCALE = 0.01
_USUAL_PORT = 8080
_LOOK_EVERY = 2.0
DAGS = ("refresh.tpch.open_orders", "small_tables")
MART = "sales_mart"
RUNNING = ("orders_change", "refresh.tpch.large_orders", MART)


def main() -> None:
    """Start, print the address, and stay until a signal."""
    heed_signals()
    lake = Lake(CHECKOUT / ".demo")
    must_be_alone(lake.root)
    print("Starting Airflow, writing example data ...", flush=True)
    with running(lake, CHECKOUT / "dags", free_port(_USUAL_PORT)) as airflow:
        make(lake, SCALE)
        airflow.spark_url()
        for error in airflow.await_ready(*DAGS, *RUNNING):
            print(error, flush=True)
        for dag_id in RUNNING:
            airflow.rest.unpause(dag_id)
        print(summary(lake, airflow.url, airflow.password), flush=True)
        with suppress(Stopped):
            while True:
                time.sleep(_LOOK_EVERY)
                airflow.look_after()


def summary(lake: Lake, url: str, password: str) -> str:
    """Addresses, and what to try."""
    return f"""
  {url}
  user {USER}, password {password}
  (the same every time; it is in {lake.airflow / "passwords.json"})

The DAGs {" and ".join(DAGS)} are there, and the connection {CONNECTION}.
Unpause a DAG: it runs at once, then every hour. Three are running already: {RUNNING[0]} changes an input
every minute, and each commit starts {RUNNING[1]}. {MART} keeps nine tables fresh, in three levels,
joins and aggregates among them, every ten minutes.
{DAGS[0]} loads its table in 16 chunks, which takes about a minute. Clear one of its merge tasks
meanwhile, or end its process: the next try skips the chunks that are in. The page Browse > Refreshes says of each
table how it is, and why.

In another shell, for `airflow-refresh list` and, in Airflow's own program, `airflow refresh list`:

  export {CONTROL_VARIABLE}={shlex.quote(str(lake.control))} AIRFLOW_HOME={shlex.quote(str(lake.airflow))}
  export PATH={shlex.quote(str(CHECKOUT / ".venv" / "bin"))}:$PATH
  airflow-refresh progress {DAGS[0].removeprefix("refresh.")} --follow

Ctrl-C here, or `make down` in another shell, stops everything."""


if __name__ == "__main__":
    main()
