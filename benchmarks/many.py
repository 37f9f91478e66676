"""Many small tables: nothing to do, one row changed in each, and one of them alone, each as a command.

Their inputs keep a change data feed, and every definition is incremental.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from benchmarks import contenders, scenarios
from benchmarks.figures import Figures
from benchmarks.measured import timed
from benchmarks.scenarios import Bench

TABLES = 50
WORKERS = 4
ROWS = 1000
_WARM_UPS = 1
_FEWEST = 5
"""How often at least a command is run that takes a second."""
_NO_SPARK = "sc://127.0.0.1:9"
_FED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
_NAMES = [f"small_{n}" for n in range(TABLES)]


def measure(bench: Bench, endpoint: Endpoint) -> Figures:
    """All figures, in a control root of their own."""
    root = bench.lake.root / "many"
    places = Places(control=str(root / "control"), spark=endpoint.url, spark_home=str(root / "spark"))
    many = replace(bench, refreshes=refreshes(places), control=root / "control")
    _at_once(lambda name: _create(many, root, name))
    for name in _NAMES:
        many.refreshes.register(_definition(root, name))
    _all(many, endpoint.url)
    rounds = [_round(many, endpoint, root, seed) for seed in range(_WARM_UPS + many.runs)]
    one = [_one(many, endpoint, root, 100 + i) for i in range(max(_FEWEST, many.runs))]
    nothing = [_all(many, _NO_SPARK) for _ in range(max(_FEWEST, many.runs))]
    _check(many, root)
    sys.stderr.write(f"bench: many {median(rounds[_WARM_UPS:]):.1f} s, {median(one):.2f} s, {median(nothing):.2f} s\n")
    return {
        "tables": TABLES,
        "workers": WORKERS,
        "changed": rounds[_WARM_UPS:],
        "one": one,
        "nothing": nothing,
    }


def _create(bench: Bench, root: Path, name: str) -> None:
    rows = f"SELECT id, concat('row ', id) AS text, 0 AS changed FROM range({ROWS})"
    bench.spark.sql(f"CREATE TABLE delta.`{_input(root, name)}` USING delta {_FED} AS {rows}").collect()


def _definition(root: Path, name: str) -> Definition:
    fields: dict[str, Any] = {
        "name": name,
        "target": str(root / f"{name}_target"),
        "query": "SELECT id, upper(text) AS text, changed FROM source",
        "inputs": {"source": {"path": _input(root, name)}},
        "keys": ["id"],
        "mode": "incremental",
    }
    return Definition.model_validate(fields)


def _round(bench: Bench, endpoint: Endpoint, root: Path, seed: int) -> float:
    """Seconds of a refresh of all tables after a change of one row in each."""
    _at_once(lambda name: _change(bench, root, name, seed))
    return _all(bench, endpoint.url)


def _one(bench: Bench, endpoint: Endpoint, root: Path, seed: int) -> float:
    """Seconds of a refresh of one table after a change of one row."""
    _change(bench, root, _NAMES[0], seed)
    return timed(scenarios.command(bench, "run", _NAMES[0], "--spark", endpoint.url))[0]


def _all(bench: Bench, spark: str) -> float:
    """Seconds of a refresh of all tables."""
    return timed(scenarios.command(bench, "run", "--all", "--workers", str(WORKERS), "--spark", spark))[0]


def _change(bench: Bench, root: Path, name: str, seed: int) -> None:
    where = f"id = {seed * 7 % ROWS}"
    bench.spark.sql(f"UPDATE delta.`{_input(root, name)}` SET changed = changed + 1 WHERE {where}").collect()


def _check(bench: Bench, root: Path) -> None:
    """Every refresh but the first has read only changes, and what it has made is what its query gives."""
    for name in _NAMES:
        modes = [entry.result.mode for entry in bench.refreshes.history(name) if entry.result]
        if modes[-1] != "full" or set(modes[:-1]) != {"incremental"}:
            raise SystemExit(f"{name} was refreshed in the modes {modes}")
    for name in (_NAMES[0], _NAMES[-1]):
        query = f"SELECT id, upper(text) AS text, changed FROM delta.`{_input(root, name)}`"
        expected = str(root / f"{name}_expected")
        bench.spark.sql(query).write.format("delta").save(expected)
        if not contenders.equal(bench.spark, str(root / f"{name}_target"), expected):
            raise SystemExit(f"the refreshed table {name} differs from its query")


def _at_once(act: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(act, _NAMES))


def _input(root: Path, name: str) -> str:
    return str(root / f"{name}_input")
