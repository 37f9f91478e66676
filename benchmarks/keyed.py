"""Incremental refreshes of aggregates, a join and a window query beside an overwrite and a stock MERGE.

Orders and their lines change together, scattered over all keys; the inputs keep a change data feed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from airflow_refresh_provider.core.definition.definition import Definition
from benchmarks import contenders
from benchmarks.scenarios import Bench, Figures

SHARE = 0.001
"""Of the orders, with their lines."""
_WARM_UPS = 3
"""The first incremental refresh is verified by a whole comparison."""
_MEASURED = ("refresh", "stages", "rows", "touched", "overwrite", "merge")
_FED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
_TABLES = ("lineitem", "orders", "customer")


@dataclass(frozen=True)
class View:
    """A query, its inputs and its keys."""

    query: str
    keys: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return tuple(name for name in _TABLES if f" {name}" in self.query)


VIEWS = {
    "aggregate": View(
        "SELECT l_orderkey, count(*) AS lines, sum(l_extendedprice * (1 - l_discount)) AS revenue, "
        "max(l_shipdate) AS shipped FROM lineitem GROUP BY l_orderkey",
        ("l_orderkey",),
    ),
    "sums": View(
        "SELECT l_shipmode, count(*) AS lines, count(l_extendedprice) AS priced, sum(l_extendedprice) AS revenue "
        "FROM lineitem GROUP BY l_shipmode",
        ("l_shipmode",),
    ),
    "join": View(
        "SELECT l.l_orderkey, l.l_linenumber, l.l_quantity, l.l_extendedprice, o.o_orderdate, o.o_orderpriority, "
        "c.c_custkey, c.c_name, c.c_mktsegment FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey "
        "JOIN customer c ON o.o_custkey = c.c_custkey",
        ("l_orderkey", "l_linenumber"),
    ),
    "latest": View(
        "SELECT o_custkey, o_orderkey, o_orderdate, o_totalprice FROM orders QUALIFY row_number() OVER "
        "(PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey DESC) = 1",
        ("o_custkey",),
    ),
}


def measure(bench: Bench) -> Figures:
    """All views, each after every change of their common inputs: Spark's code for each is compiled when it counts."""
    root = bench.lake.root / "keyed"
    _create(bench, root)
    for name, view in VIEWS.items():
        _prepare(bench, root, name, view)
    found: dict[str, Figures] = {name: {key: [] for key in _MEASURED} for name in VIEWS}
    for seed in range(_WARM_UPS + bench.runs):
        _change(bench, root, seed)
        for name, view in VIEWS.items():
            figures = _round(bench, root, name, view)
            if seed >= _WARM_UPS:
                _keep(found[name], figures)
    return {"share": SHARE, **{name: _summed_up(bench, root, name, figures) for name, figures in found.items()}}


def _create(bench: Bench, root: Path) -> None:
    for name in _TABLES:
        files = bench.parquet.parent / name
        bench.spark.sql(
            f"CREATE TABLE {_table(root, name)} USING delta {_FED} AS SELECT * FROM parquet.`{files}`"
        ).collect()


def _prepare(bench: Bench, root: Path, name: str, view: View) -> None:
    """Register a view, refresh it for the first time, and create what the MERGE changes."""
    bench.refreshes.register(
        Definition.model_validate(
            {
                "name": _definition(name),
                "target": str(root / f"{name}_target"),
                "query": view.query,
                "inputs": {table: {"path": str(root / table)} for table in view.inputs},
                "keys": list(view.keys),
                "mode": "incremental",
            }
        )
    )
    contenders.refresh(bench.refreshes, _definition(name))
    merged = _table(root, f"{name}_merged")
    bench.spark.sql(f"CREATE TABLE {merged} USING delta AS SELECT * FROM ({_bound(root, view)})").collect()


def _round(bench: Bench, root: Path, name: str, view: View) -> Figures:
    """What one refresh, one overwrite and one MERGE took; `compared`: why the refresh compared everything."""
    result = f"({_bound(root, view)})"
    overwrite = f"CREATE OR REPLACE TABLE {_table(root, f'{name}_overwritten')} USING delta AS SELECT * FROM {result}"
    merge = _merge(_table(root, f"{name}_merged"), result, view.keys)
    found = contenders.refresh(bench.refreshes, _definition(name))
    return {
        "compared": None if found.mode == "incremental" else found.mode_reason,
        "refresh": found.seconds,
        "stages": found.stages,
        "rows": found.rows.model_dump(),
        "touched": found.touched,
        "overwrite": contenders.seconds(_statement(bench, overwrite)),
        "merge": contenders.seconds(_statement(bench, merge)),
    }


def _keep(kept: Figures, figures: Figures) -> None:
    if why := figures.pop("compared"):
        raise SystemExit(f"the refresh compared everything: {why}")
    for key, value in figures.items():
        kept[key].append(value)


def _summed_up(bench: Bench, root: Path, name: str, figures: Figures) -> Figures:
    """The figures of a view with its ratios. Its tables have to be equal."""
    if not contenders.equal(bench.spark, str(root / f"{name}_target"), str(root / f"{name}_overwritten")):
        raise SystemExit(f"the refreshed table {name} differs from its query")
    figures["of_overwrite"] = median(figures["refresh"]) / median(figures["overwrite"])
    figures["of_merge"] = median(figures["refresh"]) / median(figures["merge"])
    sys.stderr.write(f"bench: keyed {name} {figures['of_overwrite']:.2f} of an overwrite\n")
    return figures


def _definition(name: str) -> str:
    return f"keyed_{name}"


def _change(bench: Bench, root: Path, seed: int) -> None:
    """Change a share of the orders and their lines."""
    where = "pmod(xxhash64({key}, {seed}), {of}) = 0"
    for table, key, column in (("orders", "o_orderkey", "o_totalprice"), ("lineitem", "l_orderkey", "l_extendedprice")):
        chosen = where.format(key=key, seed=seed, of=round(1 / SHARE))
        bench.spark.sql(f"UPDATE {_table(root, table)} SET {column} = {column} + 1 WHERE {chosen}").collect()


def _statement(bench: Bench, text: str) -> Callable[[], object]:
    return lambda: bench.spark.sql(text).collect()


def _bound(root: Path, view: View) -> str:
    """The query over the tables by path."""
    query = view.query
    for name in view.inputs:
        query = query.replace(f" {name} ", f" {_table(root, name)} ")
    return query


def _merge(target: str, result: str, keys: tuple[str, ...]) -> str:
    on = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    return (
        f"MERGE INTO {target} t USING {result} s ON {on} WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )


def _table(root: Path, name: str) -> str:
    return f"delta.`{root / name}`"
