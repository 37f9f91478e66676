"""A target and its input of two years by day, after changes to many days: beside REPLACE WHERE and an overwrite.

The input keeps no change data feed. By hand, people replace the changed days by what the query gives for these; they
have to know which they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from deltalake import DeltaTable

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.keyed_lake import at, create_sales
from benchmarks.keyed_views import SALES
from benchmarks.scenarios import Bench

DAYS = 300
_YEARS = "l_shipdate >= DATE'1994-07-01' AND l_shipdate < DATE'1996-07-01'"
_CHANGED = f"l_shipdate >= DATE'1995-01-01' AND l_shipdate < date_add(DATE'1995-01-01', {DAYS})"
_QUERY = (
    "SELECT l_shipdate, l_orderkey, l_linenumber, l_extendedprice, row_number() OVER (PARTITION BY l_shipdate "
    f"ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber) AS place FROM {SALES}"
)
_NAME = "places"
_WARM_UPS = 2
ROWS = {"few rows": "pmod(xxhash64(l_orderkey, l_linenumber), 1000) = 0", "all rows": "true"}
"""Which rows of the changed days are changed."""


def measure(bench: Bench) -> Figures:
    """Some rows of each of these days are changed, then all of them."""
    root = bench.lake.root / "partitions"
    create_sales(bench, root, _YEARS)
    _register(bench, root)
    first = contenders.refresh(bench.refreshes, _NAME)
    files = len(DeltaTable(root / "kept").file_uris())
    table = f"CREATE TABLE {at(root, 'by_hand')} USING delta PARTITIONED BY (l_shipdate) AS {_over(root)}"
    created = contenders.seconds(lambda: bench.spark.sql(table).collect())
    for _ in range(_WARM_UPS):
        _after(bench, root, "few rows")
    found = {}
    for what in ROWS:
        _after(bench, root, what)  # how many rows of the days change is learned from it
        found[what] = [_measured(bench, root, what) for _ in range(bench.runs)]
    _check(bench, root)
    loaded = {"refresh": first.seconds, "stages": first.stages, "files": files, "by_hand": created}
    sys.stderr.write(f"bench: first load of a partitioned table: {loaded}\n")
    return {
        "days": DAYS,
        "first_load": loaded,
        "changes": {what: _summed_up(what, rounds) for what, rounds in found.items()},
    }


def _register(bench: Bench, root: Path) -> None:
    definition = {
        "name": _NAME,
        "target": str(root / "kept"),
        "query": _QUERY,
        "inputs": {SALES: {"path": str(root / SALES)}},
        "keys": ["l_shipdate", "l_orderkey", "l_linenumber"],
        "partition_by": ["l_shipdate"],
        "mode": Mode.INCREMENTAL,
    }
    bench.refreshes.register(Definition.model_validate(definition))


def _measured(bench: Bench, root: Path, what: str) -> Figures:
    figures = _after(bench, root, what)
    contenders.must_follow(figures["mode"], figures["reason"])
    return figures


def _after(bench: Bench, root: Path, what: str) -> Figures:
    """What each contender takes after one change. The first refresh that follows changes is verified."""
    change = f"UPDATE {at(root, SALES)} SET l_extendedprice = l_extendedprice + 1 WHERE {_CHANGED} AND {ROWS[what]}"
    bench.spark.sql(change).collect()
    result = contenders.refresh(bench.refreshes, _NAME)
    by_hand = f"INSERT INTO {at(root, 'by_hand')} REPLACE WHERE {_CHANGED} {_over(root)} WHERE {_CHANGED}"
    overwrite = f"CREATE OR REPLACE TABLE {at(root, 'overwritten')} USING delta PARTITIONED BY (l_shipdate) AS "
    return {
        "mode": result.mode,
        "reason": result.mode_reason,
        "refresh": result.seconds,
        "stages": result.stages,
        "rows": result.rows.model_dump(),
        "notices": [notice.code for notice in result.notices],
        "touched": result.touched,
        "by_hand": contenders.seconds(lambda: bench.spark.sql(by_hand).collect()),
        "overwrite": contenders.seconds(lambda: bench.spark.sql(overwrite + _over(root)).collect()),
    }


def _summed_up(what: str, rounds: list[Figures]) -> Figures:
    figures: Figures = {key: [found[key] for found in rounds] for key in rounds[0]}
    ratios = {f"of_{other}": median(figures["refresh"]) / median(figures[other]) for other in ("by_hand", "overwrite")}
    sys.stderr.write(f"bench: {DAYS} days, {what}: {ratios}\n")
    return figures | ratios


def _check(bench: Bench, root: Path) -> None:
    """All three tables have to be equal."""
    for table in ("kept", "by_hand"):
        if not contenders.equal(bench.spark, str(root / table), str(root / "overwritten")):
            raise SystemExit(f"the table {table} differs from the query")


def _over(root: Path) -> str:
    return _QUERY.replace(f"FROM {SALES}", f"FROM {at(root, SALES)}")
