"""Incremental refreshes beside materialized views of Spark's declarative pipelines.

The flows of a pipeline run on after the statement that has started them; the embedded server cancels jobs of such
statements (ADR 23). So pipelines have a server of their own, with the same settings, that does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import connect
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.keyed import WARM_UPS, check, created, overwritten, refreshed
from benchmarks.keyed_lake import SHARE, USUAL, change_orders
from benchmarks.keyed_views import FEEDS, VIEWS
from benchmarks.plain_server import serving
from benchmarks.scenarios import Bench

PIPELINED = ("aggregate", "join", "latest", "q3", "q18")
_MEASURED = ("refresh", "overwrite", "pipeline")
_SESSION = "00000000-0000-4000-8000-00000000be7d"
_SPEC = """\
name: bench
storage: {storage}
configuration:
  spark.sql.sources.default: delta
libraries:
- glob: {{include: 'views/**'}}
"""
"""Delta refuses that `USING delta` is said again of a table that is there."""


@dataclass(frozen=True)
class Pipeline:
    """A pipeline with a materialized view for each query, over tables that its server knows by name."""

    endpoint: Endpoint
    folder: Path

    def seconds(self, view: str) -> float:
        """How long a refresh of one view took, beginning with nothing left to write by the act before."""
        os.sync()
        run = [sys.executable, "-m", "benchmarks.pipeline_run", str(self.folder / "spark-pipeline.yml"), view]
        environment = {**os.environ, "SPARK_REMOTE": self.endpoint.url}
        found = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
        if found.returncode:
            raise SystemExit(f"the pipeline failed:\n{found.stdout[-2000:]}{found.stderr[-2000:]}")
        return float(found.stdout.split()[-1])


def measure(bench: Bench, section: str) -> Figures:
    """Views after every change of their common inputs: our refresh, an overwrite, and a run of the pipeline."""
    root, newest = created(bench, section, PIPELINED, merge=False)
    found: dict[str, Figures] = {name: {key: [] for key in _MEASURED} for name in PIPELINED}
    home = bench.lake.root / f"{section}_server"
    with serving(home) as endpoint:
        pipeline = _created(endpoint, root, bench.lake.root / f"{section}_project")
        for seed in range(WARM_UPS + bench.runs):
            change_orders(bench, root, USUAL, seed, newest)
            for name, kept in found.items():
                figures = refreshed(bench, root, name)
                taken = (figures["refresh"], overwritten(bench, root, name), pipeline.seconds(name))
                if seed >= WARM_UPS:
                    contenders.must_follow(figures["mode"], figures["reason"])
                    for key, seconds in zip(_MEASURED, taken, strict=True):
                        kept[key].append(seconds)
    for name, figures in found.items():
        check(bench, root, name, Mode.INCREMENTAL)
        contenders.must_be_equal(bench.spark, home / "warehouse" / name, root / f"{name}_overwritten")
        figures["of_pipeline"] = median(figures["refresh"]) / median(figures["pipeline"])
        sys.stderr.write(f"bench: keyed {name} {figures['of_pipeline']:.2f} of a pipeline\n")
    return {"share": SHARE, "views": found}


def _created(endpoint: Endpoint, root: Path, folder: Path) -> Pipeline:
    """The tables by name on the server, and the files of the pipeline."""
    spark = connect(endpoint, _SESSION)
    try:
        for name in FEEDS:
            spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{root / name}'").collect()
    finally:
        spark.stop()
    views = folder / "views"
    views.mkdir(parents=True)
    for name in PIPELINED:
        (views / f"{name}.sql").write_text(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name].query};\n")
    (folder / "spark-pipeline.yml").write_text(_SPEC.format(storage=(folder / "storage").as_uri()))
    return Pipeline(endpoint, folder)
