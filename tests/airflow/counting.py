"""A process whose tasks refresh a lake in memory: all of it, one row of it, and nothing. Its argument is a DAG file."""

from __future__ import annotations

import sys
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag

from airflow_refresh_provider import compose
from tests.airflow.shared import Shared
from tests.unit.runner.world import row


def main(file: Path) -> None:
    shared = Shared()
    vars(compose)["refreshes"] = shared.refreshes
    [dag] = DagBag(file, bundle_name="dags-folder").dags.values()
    dag.test()
    shared.world.become(row(0, "b"), *[row(i) for i in range(1, 9)])
    dag.test()
    dag.test()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
