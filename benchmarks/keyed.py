"""Incremental refreshes of joins, aggregates and windows beside an overwrite, a stock MERGE, and one written by hand.

Orders and their lines change together; these inputs keep a change data feed. A table that is partitioned by day gets
a new day, and keeps none.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from statistics import median

from airflow_refresh_provider.core.definition.definition import Definition
from benchmarks import contenders
from benchmarks.keyed_lake import (
    NEWEST,
    SCATTERED,
    SHARE,
    USUAL,
    VECTORS,
    Change,
    add_day,
    at,
    change_orders,
    create_inputs,
    with_last_changes,
)
from benchmarks.keyed_views import SALES, VIEWS, View
from benchmarks.scenarios import Bench, Figures

_WARM_UPS = 3
"""The first incremental refresh is verified by a whole comparison."""
_FEWER = 2
"""How often other changes are measured."""
_DELETING = "WHEN NOT MATCHED BY SOURCE THEN DELETE"
_MEASURED = ("refresh", "stages", "rows", "touched", "overwrite", "merge", "by_hand")
CHANGES = (
    Change(0.00001, SCATTERED),
    Change(0.0001, SCATTERED),
    Change(0.0001, NEWEST),
    Change(0.0002, SCATTERED),
    Change(0.001, NEWEST),
    Change(0.01, SCATTERED),
    Change(0.01, NEWEST),
)
"""The first are 15 orders at scale 1. At scale 5 the fourth has as many rows as `SHARE` at scale 1."""


def beside(bench: Bench, section: str, views: Collection[str], *, merge: bool = True) -> Figures:
    """Views after every change of their common inputs, each beside the contenders.

    Spark's code for each is compiled when it counts.
    """
    root, newest = _created(bench, section, views, merge=merge)
    found: dict[str, Figures] = {name: {key: [] for key in _MEASURED} for name in views}
    for seed in range(_WARM_UPS + bench.runs):
        change_orders(bench, root, USUAL, seed, newest)
        if any(SALES in VIEWS[name].inputs for name in views):
            add_day(bench, root, seed)
        for name in views:
            figures = _refreshed(bench, root, name) | _contenders(bench, root, name, merge=merge)
            if seed >= _WARM_UPS:
                _keep(found[name], figures)
    return {"share": SHARE, **{name: _summed_up(bench, root, name, figures) for name, figures in found.items()}}


def after_changes(bench: Bench, section: str) -> Figures:
    """Views after small and large changes of orders and their lines, beside an overwrite after the first."""
    views = [name for name, view in VIEWS.items() if view.fed]
    root, newest = _created(bench, section, views, merge=False)
    for seed in range(_WARM_UPS):
        change_orders(bench, root, USUAL, seed, newest)
        beside = {name: _refreshed(bench, root, name) | _contenders(bench, root, name, merge=False) for name in views}
    changes = [_after(bench, root, change, beside, newest) for change in CHANGES]
    for name in views:
        _overwrite(bench, root, name)
        _check(bench, root, name)
    return {"changes": changes}


def _after(bench: Bench, root: Path, change: Change, beside: dict[str, Figures], newest: int) -> Figures:
    """What the refreshes took after several changes of one kind."""
    taken: dict[str, list[float]] = {name: [] for name in beside}
    for seed in range(_FEWER):
        change_orders(bench, root, change, round(1 / change.share) + seed, newest)
        for name, seconds in taken.items():
            seconds.append(_refreshed(bench, root, name)["refresh"])
    ratios = {name: median(taken[name]) / beside[name]["overwrite"] for name in taken}
    shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    sys.stderr.write(f"bench: keyed {change.share:.3%} {change.where}: {shown}\n")
    return {"share": change.share, "where": change.where, "refresh": taken, "of_overwrite": ratios}


def _created(bench: Bench, section: str, views: Collection[str], *, merge: bool) -> tuple[Path, int]:
    """The folder of inputs and views, all of them loaded, and the largest key of an order."""
    root = bench.lake.root / section
    newest = create_inputs(bench, root)
    for name in views:
        _prepare(bench, root, name, merge=merge)
    return root, newest


def _prepare(bench: Bench, root: Path, name: str, *, merge: bool) -> None:
    """Register a view, refresh it for the first time, and create what the MERGE changes."""
    view = VIEWS[name]
    bench.refreshes.register(
        Definition.model_validate(
            {
                "name": _definition(root, name),
                "target": str(root / f"{name}_target"),
                "query": view.query,
                "inputs": {table: {"path": str(root / table)} for table in view.inputs},
                "keys": list(view.keys),
                "mode": "incremental",
            }
        )
    )
    contenders.refresh(bench.refreshes, _definition(root, name))
    if merge:
        for contender, properties in (("merged", ""), ("by_hand", VECTORS)):
            table = at(root, f"{name}_{contender}")
            bench.spark.sql(f"CREATE TABLE {table} USING delta {properties} AS {_bound(root, view)}").collect()


def _refreshed(bench: Bench, root: Path, name: str) -> Figures:
    """What one refresh took; `compared`: why it compared everything."""
    found = contenders.refresh(bench.refreshes, _definition(root, name))
    return {
        "compared": None if found.mode == "incremental" else found.mode_reason,
        "refresh": found.seconds,
        "stages": found.stages,
        "rows": found.rows.model_dump(),
        "touched": found.touched,
    }


def _contenders(bench: Bench, root: Path, name: str, *, merge: bool) -> Figures:
    """What one overwrite took, one MERGE, and one of the changes alone."""
    view = VIEWS[name]
    found: Figures = {"overwrite": contenders.seconds(lambda: _overwrite(bench, root, name))}
    if merge:
        text = f"{_merge(at(root, f'{name}_merged'), _bound(root, view), view.keys)} {_DELETING}"
        found["merge"] = contenders.seconds(lambda: bench.spark.sql(text).collect())
    if merge and (changed := view.changed_over(with_last_changes(root, view.inputs))):
        by_hand = _merge(at(root, f"{name}_by_hand"), changed, view.keys)
        found["by_hand"] = contenders.seconds(lambda: bench.spark.sql(by_hand).collect())
    return found


def _overwrite(bench: Bench, root: Path, name: str) -> None:
    table = at(root, f"{name}_overwritten")
    bench.spark.sql(f"CREATE OR REPLACE TABLE {table} USING delta AS {_bound(root, VIEWS[name])}").collect()


def _keep(kept: Figures, figures: Figures) -> None:
    if why := figures.pop("compared"):
        raise SystemExit(f"the refresh compared everything: {why}")
    for key, value in figures.items():
        kept[key].append(value)


def _summed_up(bench: Bench, root: Path, name: str, figures: Figures) -> Figures:
    """The figures of a view with its ratios. Its tables have to be equal."""
    others = [other for other in ("overwrite", "merge", "by_hand") if figures[other]]
    _check(bench, root, name)
    if figures["by_hand"]:
        _check(bench, root, name, "by_hand")
    ratios = {f"of_{other}": median(figures["refresh"]) / median(figures[other]) for other in others}
    sys.stderr.write(f"bench: keyed {name} {ratios['of_overwrite']:.2f} of an overwrite\n")
    return figures | ratios


def _check(bench: Bench, root: Path, name: str, table: str = "target") -> None:
    if not contenders.equal(bench.spark, str(root / f"{name}_{table}"), str(root / f"{name}_overwritten")):
        raise SystemExit(f"the table {name}_{table} differs from the query")


def _definition(root: Path, name: str) -> str:
    return f"{root.name}_{name}"


def _bound(root: Path, view: View) -> str:
    """The query over the tables by path."""
    return view.over({name: at(root, name) for name in view.inputs})


def _merge(target: str, result: str, keys: tuple[str, ...]) -> str:
    on = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    return (
        f"MERGE INTO {target} t USING ({result}) s ON {on} WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )
