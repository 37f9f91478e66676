"""`make bench`: measure, print, and write `docs/benchmarks.md` and `docs/benchmarks.json`.

Ends with the floors of what was measured, and with exit code 1 when one of them is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from airflow_refresh_provider.compose import embedded_server, refreshes
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import connect
from benchmarks import (
    control_store,
    floors,
    incremental,
    keyed,
    keyed_changes,
    lake,
    many,
    page,
    partitions,
    pipelines,
    report,
    scenarios,
)
from benchmarks.contenders import refresh
from benchmarks.figures import Figures
from benchmarks.keyed_report import KEYED
from benchmarks.keyed_views import REPORTS, SIMPLE, VIEWS

_PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
_RAW = _PAGE.with_suffix(".json")
_WARM_UP_SHARE = 0.001
_WARM_UPS = 3
"""The last one makes the first checksums (ADR 77)."""
_WARM_UP_SEED = 1_000_000
_LARGER = 5
"""Scale of the larger tables."""
_SMALLER = 0.1
_RUNS_OF_LARGER = 2


def main() -> int:
    """Take every figure, or those asked for."""
    options = _options()
    if not set(options.only) <= _WITHOUT_SPARK.keys():
        _on_a_server(options)
    for name in (name for name in _WITHOUT_SPARK if name in options.only):
        _say(name)
        _keep({name: _WITHOUT_SPARK[name]()})
    raw = json.loads(_RAW.read_text())
    _PAGE.write_text(report.page(raw))
    print(_PAGE.read_text())
    found = floors.standings(raw, options.only)
    print(floors.table(found))
    return 0 if all(standing.kept for standing in found) else 1


def _on_a_server(options: argparse.Namespace) -> None:
    """The sections that need Spark, on one warm server."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ".cache")) / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    parquet = lake.generate(cache, options.scale).resolve()
    root = Path(tempfile.mkdtemp(prefix="bench-", dir=cache)).resolve()
    places = Places(control=str(root / "control"), spark="local", spark_home=str(root / "spark"))
    server = embedded_server(places)
    try:
        _measure(places, root, parquet, options)
    finally:
        server.stop()
        shutil.rmtree(root, ignore_errors=True)


def _measure(places: Places, root: Path, parquet: Path, options: argparse.Namespace) -> None:
    """Each section is kept as soon as it is measured: one that fails takes no other with it."""
    endpoint = embedded_server(places).ensure()
    spark = connect(endpoint, "00000000-0000-4000-8000-00000000be7c")
    try:
        tables = lake.Lake(root)
        lake.create(spark, tables, parquet)
        bench = scenarios.Bench(
            spark, refreshes(places), tables, parquet, root / "control", lake.rows(spark, tables.lineitem), options.runs
        )
        if not set(options.only) <= _WARMED_BY_THEMSELVES | _WITHOUT_SPARK.keys():
            _warm(bench)
        _keep(_about(bench, options))
        for name in (name for name in _SECTIONS if name in options.only):
            _say(name)
            _keep({name: _SECTIONS[name](bench, endpoint)})
    finally:
        spark.stop()


def _warm(bench: scenarios.Bench) -> None:
    _say(f"{bench.rows:,} rows; warming the code paths of all contenders")
    scenarios.define(bench, "lineitem", target=bench.lake.table("lineitem_kept"))
    refresh(bench.refreshes, "lineitem")
    bench.spark.read.format("delta").load(bench.lake.lineitem).write.format("delta").save(bench.lake.table("merged"))
    scenarios.changed(replace(bench, runs=_WARM_UPS), _WARM_UP_SHARE, seed=_WARM_UP_SEED)


def _keyed_larger(bench: scenarios.Bench) -> Figures:
    """The views over larger tables, without MERGE, which takes minutes each time."""
    larger = _of_scale(bench, _LARGER)
    return {"scale": _LARGER, "runs": larger.runs, **keyed.beside(larger, "keyed_larger", VIEWS, merge=False)}


def _of_scale(bench: scenarios.Bench, scale: float) -> scenarios.Bench:
    cache = Path(os.environ.get("XDG_CACHE_HOME", ".cache")) / "bench"
    return replace(bench, parquet=lake.generate(cache, scale).resolve(), runs=_RUNS_OF_LARGER)


_WARMED_BY_THEMSELVES = {*KEYED, "many"}
"""Sections with tables of their own, whose first rounds do not count."""

_SECTIONS: dict[str, Callable[[scenarios.Bench, Endpoint], Figures]] = {
    "first_load": lambda bench, _: scenarios.first_loads(bench),
    "changed": lambda bench, _: {
        str(share): scenarios.changed(bench, share, seed=100 * i) for i, share in enumerate(scenarios.SHARES)
    },
    "incremental": lambda bench, _: incremental.measure(bench),
    "keyed": lambda bench, _: keyed.beside(bench, "keyed", SIMPLE),
    "keyed_reports": lambda bench, _: keyed.beside(bench, "keyed_reports", REPORTS),
    "keyed_changes": lambda bench, _: keyed_changes.by_mode(bench, "keyed_changes"),
    "keyed_larger": lambda bench, _: _keyed_larger(bench),
    "keyed_grown": lambda bench, _: keyed_changes.in_grown(bench, _of_scale(bench, _LARGER), _LARGER),
    "keyed_fixed": lambda bench, _: {"scale": _SMALLER, **keyed_changes.in_small(_of_scale(bench, _SMALLER))},
    "pipelines": lambda bench, _: pipelines.measure(bench, "pipelines"),
    "partitions": lambda bench, _: {"scale": _LARGER, **partitions.measure(_of_scale(bench, _LARGER))},
    "unchanged": lambda bench, _: scenarios.unchanged(bench),
    "resumed": lambda bench, endpoint: scenarios.resumed(bench, endpoint.url),
    "many": many.measure,
}
"""The sections of the page in the order in which they can be taken; no input may have changed before `unchanged`."""

_WITHOUT_SPARK: dict[str, Callable[[], Figures]] = {"control": control_store.measure, "page": page.measure}
"""Those that are taken in this process alone."""


def _about(bench: scenarios.Bench, options: argparse.Namespace) -> Figures:
    return {
        "scale": options.scale,
        "rows": bench.rows,
        "runs": options.runs,
        "cores": os.cpu_count(),
        "spark": version("pyspark"),
        "delta": version("delta-spark"),
    }


def _keep(figures: Figures) -> None:
    """Put figures beside those that were taken before."""
    before = json.loads(_RAW.read_text()) if _RAW.exists() else {}
    _RAW.write_text(json.dumps(before | figures, indent=1) + "\n")


def _options() -> argparse.Namespace:
    every = [*_SECTIONS, *_WITHOUT_SPARK]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument("--runs", type=int, default=3, help="how often each figure is taken")
    parser.add_argument("--only", nargs="+", choices=every, default=every, help="sections to measure again")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
