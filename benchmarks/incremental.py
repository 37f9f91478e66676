"""Incremental refreshes beside an overwrite and a stock MERGE: few changes, scattered or newest, and a larger table."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from statistics import median

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.run.results import RunResult
from benchmarks import contenders, lake, scenarios
from benchmarks.figures import Figures
from benchmarks.lake import Lake
from benchmarks.measured import timed
from benchmarks.scenarios import Bench

SHARE = 0.001
TIMES_LARGER = 4
_LOOKS = 20
_WARM_UPS = 5
"""Java compiles what is run often while it runs, and a server that follows its inputs has run all of it often."""
_FED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"


def measure(bench: Bench) -> Figures:
    """All figures. Inputs of their own keep a change data feed."""
    fed = _fed(bench, "fed", 1)
    target = fed.lake.table("followed")
    scattered = scenarios.beside(fed, lambda i: _followed(fed, "scattered", 1 + i), target)
    newest = scenarios.beside(fed, lambda i: _followed(fed, "newest", 100 + i), target)
    due = _due(fed)
    larger = _fed(bench, "larger", TIMES_LARGER)
    more = [_followed(larger, "scattered", 1000 + i) for i in range(bench.runs)]
    return {
        "share": SHARE,
        "warming": fed.warming,
        "scattered": scattered,
        "newest": newest,
        "larger": {
            "times": TIMES_LARGER,
            "refresh": [r.seconds for r in more],
            "stages": [r.stages for r in more],
            "ratio": median(r.seconds for r in more) / median(scattered["refresh"]),
        },
        "due": due,
    }


def _fed(bench: Bench, name: str, times: int) -> Bench:
    """A lake whose lineitem keeps a feed, so many times as large, refreshed once and followed a few times."""
    made = replace(bench, lake=Lake(bench.lake.root / name))
    copies = " UNION ALL ".join(
        f"SELECT l_orderkey + {i} * 10000000 AS l_orderkey, * EXCEPT (l_orderkey) FROM parquet.`{bench.parquet}`"
        if i
        else f"SELECT * FROM parquet.`{bench.parquet}`"
        for i in range(times)
    )
    bench.spark.sql(f"CREATE TABLE delta.`{made.lake.lineitem}` USING delta {_FED} AS {copies}").collect()
    scenarios.define(made, f"followed_{name}", mode="incremental", target=made.lake.table("followed"))
    contenders.refresh(bench.refreshes, f"followed_{name}")
    bench.spark.read.format("delta").load(made.lake.lineitem).write.format("delta").save(made.lake.table("merged"))
    return replace(made, warming=tuple(_followed(made, "scattered", 900 + i).seconds for i in range(_WARM_UPS)))


def _followed(bench: Bench, what: str, seed: int) -> RunResult:
    if what == "newest":
        _change_newest(bench.spark, bench.lake, seed)
    else:
        lake.change(bench.spark, bench.lake, SHARE, seed)
    result = contenders.refresh(bench.refreshes, f"followed_{bench.lake.root.name}")
    if result.mode != "incremental":
        raise SystemExit(f"the refresh compared everything: {result.mode_reason}")
    return result


def _change_newest(spark: SparkSession, of: Lake, seed: int) -> None:
    """Change the rows with the highest keys."""
    (share,) = spark.sql(f"SELECT percentile_approx(l_orderkey, {1 - SHARE}) FROM delta.`{of.lineitem}`").first() or (
        0,
    )
    spark.sql(f"UPDATE delta.`{of.lineitem}` SET l_comment = 'newest {seed}' WHERE l_orderkey >= {share}").collect()


def _due(bench: Bench) -> Figures:
    """Asking whether a refresh is due, with nothing to do: in this process, and as a command."""
    name = f"followed_{bench.lake.root.name}"
    looks = []
    for _ in range(_LOOKS):
        began = time.perf_counter()
        bench.refreshes.due(name)
        looks.append(time.perf_counter() - began)
    words = scenarios.command(bench, "due", name)
    commands = [timed(words, codes=(0, 4))[0] for _ in range(5)]
    sys.stderr.write(f"bench: due {median(looks):.3f} s, as a command {median(commands):.2f} s\n")
    return {"looks": looks, "commands": commands}
