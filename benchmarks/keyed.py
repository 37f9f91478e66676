"""Incremental refreshes of joins, aggregates and windows beside an overwrite, a stock MERGE, and one written by hand.

Orders and their lines change together; these inputs keep a change data feed. A table that is partitioned by day gets
a new day, and keeps none.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import median

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.keyed_lake import (
    SHARE,
    USUAL,
    VECTORS,
    add_day,
    at,
    change_orders,
    create_inputs,
    with_last_changes,
)
from benchmarks.keyed_views import SALES, VIEWS
from benchmarks.scenarios import Bench

WARM_UPS = 3
"""The first incremental refresh is verified by a whole comparison."""
_DELETING = "WHEN NOT MATCHED BY SOURCE THEN DELETE"
_MEASURED = ("refresh", "stages", "rows", "touched", "overwrite", "merge", "by_hand")


def beside(bench: Bench, section: str, views: Collection[str], *, merge: bool = True) -> Figures:
    """Views after every change of their common inputs, each beside the contenders.

    Spark's code for each is compiled when it counts.
    """
    root, newest = created(bench, section, views, merge=merge)
    found: dict[str, Figures] = {name: {key: [] for key in _MEASURED} for name in views}
    for seed in range(WARM_UPS + bench.runs):
        change_orders(bench, root, USUAL, seed, newest)
        if any(SALES in VIEWS[name].inputs for name in views):
            add_day(bench, root, USUAL, seed, newest)
        for name in views:
            figures = refreshed(bench, root, name) | _contenders(bench, root, name, merge=merge)
            if seed >= WARM_UPS:
                _keep(found[name], figures)
    return {"share": SHARE, **{name: _summed_up(bench, root, name, figures) for name, figures in found.items()}}


def created(
    bench: Bench, section: str, views: Collection[str], *, merge: bool, modes: Sequence[Mode] = (Mode.INCREMENTAL,)
) -> tuple[Path, int]:
    """The folder of inputs and views, all of them loaded, and the largest key of an order.

    A view has a definition for each mode. `merge`: it has tables that a MERGE changes.
    """
    root = bench.lake.root / section
    newest = create_inputs(bench, root)
    for name in views:
        for mode in modes:
            _prepare(bench, root, name, mode)
        if merge:
            _create_merged(bench, root, name)
    return root, newest


def _prepare(bench: Bench, root: Path, name: str, mode: Mode) -> None:
    """Register a view and refresh it for the first time."""
    view = VIEWS[name]
    bench.refreshes.register(
        Definition.model_validate(
            {
                "name": _definition(root, name, mode),
                "target": str(root / f"{name}_{mode}"),
                "query": view.query,
                "inputs": {table: {"path": str(root / table)} for table in view.inputs},
                "keys": list(view.keys),
                "mode": mode,
            }
        )
    )
    contenders.refresh(bench.refreshes, _definition(root, name, mode))


def _create_merged(bench: Bench, root: Path, name: str) -> None:
    for contender, properties in (("merged", ""), ("by_hand", VECTORS)):
        table = at(root, f"{name}_{contender}")
        bench.spark.sql(f"CREATE TABLE {table} USING delta {properties} AS {_bound(root, name)}").collect()


def refreshed(bench: Bench, root: Path, name: str, mode: Mode = Mode.INCREMENTAL) -> Figures:
    """What one refresh took."""
    found = contenders.refresh(bench.refreshes, _definition(root, name, mode))
    return {
        "mode": found.mode,
        "reason": found.mode_reason,
        "refresh": found.seconds,
        "stages": found.stages,
        "rows": found.rows.model_dump(),
        "touched": found.touched,
    }


def _contenders(bench: Bench, root: Path, name: str, *, merge: bool) -> Figures:
    """What one overwrite took, one MERGE, and one of the changes alone."""
    view = VIEWS[name]
    found: Figures = {"overwrite": overwritten(bench, root, name)}
    if merge:
        text = f"{_merge(at(root, f'{name}_merged'), _bound(root, name), view.keys)} {_DELETING}"
        found["merge"] = contenders.seconds(lambda: bench.spark.sql(text).collect())
    if merge and (changed := view.changed_over(with_last_changes(root, view.inputs))):
        by_hand = _merge(at(root, f"{name}_by_hand"), changed, view.keys)
        found["by_hand"] = contenders.seconds(lambda: bench.spark.sql(by_hand).collect())
    return found


def overwritten(bench: Bench, root: Path, name: str) -> float:
    """How long an overwrite took."""
    text = f"CREATE OR REPLACE TABLE {at(root, f'{name}_overwritten')} USING delta AS {_bound(root, name)}"
    return contenders.seconds(lambda: bench.spark.sql(text).collect())


def _keep(kept: Figures, figures: Figures) -> None:
    contenders.must_follow(figures["mode"], figures["reason"])
    for key in figures.keys() & kept.keys():
        kept[key].append(figures[key])


def _summed_up(bench: Bench, root: Path, name: str, figures: Figures) -> Figures:
    """The figures of a view with its ratios. Its tables have to be equal."""
    others = [other for other in ("overwrite", "merge", "by_hand") if figures[other]]
    check(bench, root, name, Mode.INCREMENTAL)
    if figures["by_hand"]:
        check(bench, root, name, "by_hand")
    ratios = {f"of_{other}": median(figures["refresh"]) / median(figures[other]) for other in others}
    sys.stderr.write(f"bench: keyed {name} {ratios['of_overwrite']:.2f} of an overwrite\n")
    return figures | ratios


def check(bench: Bench, root: Path, name: str, table: str) -> None:
    """Its table has to be as the overwritten one."""
    contenders.must_be_equal(bench.spark, root / f"{name}_{table}", root / f"{name}_overwritten")


def _definition(root: Path, name: str, mode: Mode) -> str:
    return f"{root.name}_{name}_{mode}"


def _bound(root: Path, name: str) -> str:
    """The query of a view over the tables by path."""
    view = VIEWS[name]
    return view.over({table: at(root, table) for table in view.inputs})


def _merge(target: str, result: str, keys: tuple[str, ...]) -> str:
    on = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    return (
        f"MERGE INTO {target} t USING ({result}) s ON {on} WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )
