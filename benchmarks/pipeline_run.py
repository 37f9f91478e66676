"""One run of a declarative pipeline: `python -m benchmarks.pipeline_run SPEC VIEW`. Its last line is the seconds.

The session is made by the run, on the server of SPARK_REMOTE. What Python needs to start is not counted.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.pipelines import cli


def main() -> None:
    """Refresh one materialized view."""
    spec, view = sys.argv[1:]
    began = time.perf_counter()
    cli.run(Path(spec), full_refresh=[], full_refresh_all=False, refresh=[view], dry=False)
    sys.stdout.write(f"{time.perf_counter() - began}\n")


if __name__ == "__main__":
    main()
