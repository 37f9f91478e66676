"""`make bench`: measure, print, and write `docs/benchmarks.md` and `docs/benchmarks.json`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from airflow_refresh_provider.compose import embedded_server, refreshes
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.sessions import connect
from benchmarks import control_store, incremental, lake, report, scenarios
from benchmarks.contenders import refresh

DOCS = Path(__file__).parent.parent / "docs"
_WARM_UP_SHARE = 0.05
_WARM_UPS = 2
_WARM_UP_SEED = 1_000_000


def main() -> int:
    """Run everything on one warm server."""
    options = _options()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ".cache")) / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    parquet = lake.generate(cache, options.scale).resolve()
    root = Path(tempfile.mkdtemp(prefix="bench-", dir=cache)).resolve()
    places = Places(control=str(root / "control"), spark="local", spark_home=str(root / "spark"))
    server = embedded_server(places)
    try:
        raw = _measure(places, root, parquet, options)
        _say("control tables")
        raw["control"] = control_store.measure()
    finally:
        server.stop()
        shutil.rmtree(root, ignore_errors=True)
    (DOCS / "benchmarks.json").write_text(json.dumps(raw, indent=1) + "\n")
    (DOCS / "benchmarks.md").write_text(report.page(raw))
    print((DOCS / "benchmarks.md").read_text())
    return 0


def _measure(places: Places, root: Path, parquet: Path, options: argparse.Namespace) -> scenarios.Figures:
    endpoint = embedded_server(places).ensure()
    spark = connect(endpoint, "00000000-0000-4000-8000-00000000be7c")
    try:
        tables = lake.Lake(root)
        lake.create(spark, tables, parquet)
        bench = scenarios.Bench(
            spark, refreshes(places), tables, parquet, root / "control", lake.rows(spark, tables.lineitem), options.runs
        )
        _say(f"{bench.rows:,} rows; warming the code paths of all contenders")
        scenarios.define(bench, "lineitem", target=tables.table("lineitem_kept"))
        refresh(bench.refreshes, "lineitem")
        spark.read.format("delta").load(tables.lineitem).write.format("delta").save(tables.table("merged"))
        scenarios.changed(replace(bench, runs=_WARM_UPS), _WARM_UP_SHARE, seed=_WARM_UP_SEED)
        _say("first loads")
        first = scenarios.first_loads(bench)
        changed = {}
        for i, share in enumerate(scenarios.SHARES):
            _say(f"{share:.1%} changed")
            changed[str(share)] = scenarios.changed(bench, share, seed=100 * i)
        _say("incremental")
        followed = incremental.measure(bench)
        _say("nothing moved; killed and resumed")
        return {
            "scale": options.scale,
            "rows": bench.rows,
            "runs": options.runs,
            "cores": os.cpu_count(),
            "spark": version("pyspark"),
            "delta": version("delta-spark"),
            "first_load": first,
            "changed": changed,
            "incremental": followed,
            "unmoved": scenarios.unmoved(bench),
            "resumed": scenarios.resumed(bench, endpoint.url),
        }
    finally:
        spark.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument("--runs", type=int, default=3, help="how often each figure is taken")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
