"""A process that runs the one DAG of a file once, and says how its tasks ended and how much memory it took at most."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag


def main(file: Path) -> None:
    [dag] = DagBag(file, bundle_name="dags-folder").dags.values()
    before, started = _peak_megabytes(), time.monotonic()
    ended = dag.test()
    reported = {
        "state": str(ended.state),
        "tasks": {task.task_id: str(task.state) for task in ended.get_task_instances()},
        "megabytes": (before, _peak_megabytes()),
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(time.process_time(), 1),
    }
    sys.stdout.write(f"\n{json.dumps(reported)}\n")


def _peak_megabytes() -> int:
    """Of this program alone: `getrusage` would start with the peak of its parent process."""
    [peak] = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) // 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]))
