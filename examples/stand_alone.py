"""Airflow with the example DAGs, to look at and to play with: `make up`. Ctrl-C ends everything that it started."""

from __future__ import annotations

import shlex
import signal
from contextlib import suppress
from pathlib import Path

from airflow_refresh_provider.places import CONTROL_VARIABLE
from examples.lake import Lake, make
from examples.local_airflow import CONNECTION, free_port, running
from examples.processes import Asked, heed_signals, must_be_alone
from examples.rest import USER

CHECKOUT = Path(__file__).parents[1]
SCALE = 0.1
_USUAL_PORT = 8080
DAGS = ("refresh.tpch.open_orders", "small_tables")
AT_WORK = ("orders_change", "refresh.tpch.large_orders")


def main() -> None:
    """Start, say where it is, and stay until a signal comes."""
    heed_signals()
    lake = Lake(CHECKOUT / ".demo")
    must_be_alone(lake.root)
    print("Airflow starts, example data is made ...", flush=True)
    with running(lake, CHECKOUT / "dags", free_port(_USUAL_PORT)) as airflow:
        make(lake, SCALE)
        airflow.spark_url()
        for error in airflow.await_ready(*DAGS, *AT_WORK):
            print(error, flush=True)
        for dag_id in AT_WORK:
            airflow.rest.unpause(dag_id)
        print(told(lake, airflow.url, airflow.password), flush=True)
        with suppress(Asked):
            while True:
                signal.pause()


def told(lake: Lake, url: str, password: str) -> str:
    """Where everything is, and what can be done there."""
    return f"""
  {url}
  user {USER}, password {password}

The DAGs {" and ".join(DAGS)} are there, and the connection {CONNECTION}.
Switch a DAG on, and it runs at once, then every hour. Two are at work already: {AT_WORK[0]} changes an input
every minute, and each commit begins {AT_WORK[1]}.

In another shell, for `airflow-refresh list` and, in Airflow's own program, `airflow refresh list`:

  export {CONTROL_VARIABLE}={shlex.quote(str(lake.control))} AIRFLOW_HOME={shlex.quote(str(lake.airflow))}
  export PATH={shlex.quote(str(CHECKOUT / ".venv" / "bin"))}:$PATH

Ctrl-C ends everything."""


if __name__ == "__main__":
    main()
