"""The rounds of a benchmark, each measuring every contender on the same change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.runner.refreshes import Refreshes
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.lake import KEYS, QUERY, Lake, change
from benchmarks.measured import timed

SHARES = (0.0, 0.001, 0.01, 0.1, 1.0)
RESUMED_CHUNKS = 8
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Bench:
    """One warm Spark, one control root, one lake; `runs` is how often each figure is taken.

    `parquet` is the folder of files that the lake was made from. `warming`: seconds of the refreshes before those that
    are measured.
    """

    spark: SparkSession
    refreshes: Refreshes
    lake: Lake
    parquet: Path
    control: Path
    rows: int
    runs: int
    warming: tuple[float, ...] = ()


def define(bench: Bench, name: str, **options: Any) -> Definition:
    """A definition of lineitem, registered."""
    definition = Definition.model_validate(
        {
            "name": name,
            "target": bench.lake.table(name),
            "query": QUERY,
            "inputs": {"lineitem": {"path": bench.lake.lineitem}},
            "keys": list(KEYS),
            **options,
        }
    )
    bench.refreshes.register(definition)
    return definition


def first_loads(bench: Bench) -> Figures:
    """A first load beside an overwrite of the same size."""
    ours, theirs, stages = [], [], []
    for i in range(bench.runs):
        theirs.append(contenders.seconds(lambda: contenders.overwrite(bench.spark, bench.lake)))
        define(bench, f"first_{i}")
        result = contenders.refresh(bench.refreshes, f"first_{i}")
        ours.append(result.seconds)
        stages.append(result.stages)
    bench.refreshes.drop("first_0", delete_target=True)
    return {"refresh": ours, "overwrite": theirs, "stages": stages, "ratio": median(ours) / median(theirs)}


def changed(bench: Bench, share: float, seed: int) -> Figures:
    """The same change taken up by a refresh, an overwrite and a stock MERGE, one after the other."""

    def step(i: int) -> RunResult:
        change(bench.spark, bench.lake, share, seed + i)
        return contenders.refresh(bench.refreshes, "lineitem")

    return beside(bench, step, bench.lake.table("lineitem_kept"))


def beside(bench: Bench, step: Callable[[int], RunResult], target: str) -> Figures:
    """Steps, each a change and a refresh of `target`, beside what the other contenders take for the same."""
    figures: Figures = {"refresh": [], "overwrite": [], "merge": [], "stages": [], "rows": []}
    for i in range(bench.runs):
        result = step(i)
        figures["refresh"].append(result.seconds)
        figures["stages"].append(result.stages)
        figures["rows"].append(result.rows.model_dump())
        figures["overwrite"].append(contenders.seconds(lambda: contenders.overwrite(bench.spark, bench.lake)))
        figures["merge"].append(contenders.seconds(lambda: contenders.stock_merge(bench.spark, bench.lake)))
    if not contenders.equal(bench.spark, target, bench.lake.lineitem):
        raise SystemExit(f"the refreshed table {target} differs from its query")
    figures["of_overwrite"] = median(figures["refresh"]) / median(figures["overwrite"])
    figures["of_merge"] = median(figures["refresh"]) / median(figures["merge"])
    return figures


def unchanged(bench: Bench) -> Figures:
    """The command when no input has changed, as a process: it must not need Spark."""
    words = command(bench, "run", "lineitem", "--spark", "sc://127.0.0.1:9")
    times, peaks = [], []
    for _ in range(max(5, bench.runs)):
        took, peak = timed(words)
        times.append(took)
        peaks.append(peak)
    return {"command": times, "client_peak_mb": max(peaks)}


def resumed(bench: Bench, endpoint: str) -> Figures:
    """First loads in several chunks, undisturbed and killed at half: what the resuming commands still take."""
    whole, rest, peaks = [], [], []
    for i in range(bench.runs):
        _define_chunked(bench, f"whole_{i}")
        took, peak = timed(command(bench, "run", f"whole_{i}", "--spark", endpoint))
        _define_chunked(bench, f"killed_{i}")
        _kill_at_half(bench, f"killed_{i}", endpoint)
        left, left_peak = timed(command(bench, "run", f"killed_{i}", "--spark", endpoint))
        whole.append(took)
        rest.append(left)
        peaks += [peak, left_peak]
    if not contenders.equal(bench.spark, bench.lake.table("killed_0"), bench.lake.table("whole_0")):
        raise SystemExit("the resumed table differs from its query")
    ratio = median(rest) / median(whole)
    return {"undisturbed": whole, "resumed": rest, "ratio": ratio, "client_peak_mb": max(peaks)}


def _define_chunked(bench: Bench, name: str) -> None:
    define(
        bench,
        name,
        inputs={"lineitem": {"path": str(bench.parquet), "format": "parquet"}},
        chunking={"one_commit_up_to": 1, "chunk_rows": -(-bench.rows // RESUMED_CHUNKS)},
    )


def _kill_at_half(bench: Bench, name: str, endpoint: str) -> None:
    words = command(bench, "run", name, "--spark", endpoint)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while (report := bench.refreshes.progress(name)).chunks_done < RESUMED_CHUNKS // 2:
        if process.poll() is not None:
            raise SystemExit(f"the load ended before it could be killed, at {report.chunks_done} chunks")
        time.sleep(_POLL_SECONDS)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def command(bench: Bench, *words: str) -> list[str]:
    """`airflow-refresh` with the places of a benchmark."""
    return [
        str(Path(sys.executable).parent / "airflow-refresh"),
        *words,
        "--control",
        str(bench.control),
        "--output",
        "json",
    ]
