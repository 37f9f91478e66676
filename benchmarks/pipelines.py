"""Keyed refreshes beside materialized views of Spark's declarative pipelines, on the same server."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from statistics import median

from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.mode import Mode
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.keyed import WARM_UPS, bound, created, refreshed
from benchmarks.keyed_lake import SHARE, USUAL, change_orders
from benchmarks.keyed_views import SIMPLE
from benchmarks.scenarios import Bench


def measure(bench: Bench) -> Figures:
    """Views after changes of orders and their lines, each in a pipeline of its own."""
    root, newest = created(bench, "pipelines", SIMPLE, merge=False)
    found: dict[str, Figures] = {name: {"refresh": [], "pipeline": []} for name in SIMPLE}
    for seed in range(WARM_UPS + bench.runs):
        change_orders(bench, root, USUAL, seed, newest)
        for name, figures in found.items():
            refresh = refreshed(bench, root, name)["refresh"]
            pipeline = contenders.seconds(partial(_update, bench.spark, name, bound(root, name), root))
            if seed >= WARM_UPS:
                figures["refresh"].append(refresh)
                figures["pipeline"].append(pipeline)
    return {"share": SHARE, **{name: _summed_up(bench, root, name, figures) for name, figures in found.items()}}


def _update(spark: SparkSession, name: str, query: str, root: Path) -> None:
    """One update of a pipeline, as `spark-pipelines run` has it run."""
    graph = create_dataflow_graph(spark, default_catalog=None, default_database=None, sql_conf=None)
    view = f"CREATE MATERIALIZED VIEW {_table(name)} USING delta AS {query}"
    SparkConnectGraphElementRegistry(spark, graph).register_sql(view, Path(f"{name}.sql"))
    for _ in start_run(spark, graph, [], False, [], False, f"file://{root / 'pipelines'}"):
        pass


def _summed_up(bench: Bench, root: Path, name: str, figures: Figures) -> Figures:
    """The figures of a view with their ratio. Its tables have to be equal."""
    ours = bench.spark.read.format("delta").load(str(root / f"{name}_{Mode.INCREMENTAL}"))
    if not contenders.same(ours, bench.spark.table(_table(name))):
        raise SystemExit(f"the materialized view {name} differs from our target")
    ratio = median(figures["refresh"]) / median(figures["pipeline"])
    sys.stderr.write(f"bench: pipelines {name} {ratio:.2f}\n")
    return {**figures, "of_pipeline": ratio}


def _table(name: str) -> str:
    return f"pipeline_{name}"
