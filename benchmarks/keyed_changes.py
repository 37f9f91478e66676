"""Keyed refreshes after small and large changes, in each mode, and in a lake that has grown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

from airflow_refresh_provider.core.definition.mode import Mode
from benchmarks import contenders
from benchmarks.figures import Figures
from benchmarks.keyed import WARM_UPS, check, created, overwritten, refreshed
from benchmarks.keyed_lake import NEWEST, SCATTERED, SHARE, USUAL, Change, add_day, change_orders
from benchmarks.keyed_views import VIEWS
from benchmarks.scenarios import Bench

_TIMES = 2
"""How often each figure is taken."""
_TIMES_FIXED = 7
"""How often that of a refresh of small tables is: of two seconds, two refreshes may differ by a quarter."""
CHANGES = (
    Change(0.00001, SCATTERED),
    Change(0.0001, SCATTERED),
    Change(0.0001, NEWEST),
    Change(0.001, SCATTERED),
    Change(0.001, NEWEST),
    Change(0.01, SCATTERED),
    Change(0.01, NEWEST),
)
"""The first are 15 orders at scale 1."""
FEW = Change(0.0001, SCATTERED)
"""The same number at scale 0.1."""
_MODES = (Mode.INCREMENTAL, Mode.AUTO, Mode.FULL)


def by_mode(bench: Bench, section: str) -> Figures:
    """Views after each change in each mode, beside an overwrite after the first."""
    root, newest = created(bench, section, VIEWS, merge=False, modes=_MODES)
    for seed in range(WARM_UPS):
        _change(bench, root, USUAL, seed, newest)
        overwrites = {name: overwritten(bench, root, name) for name in VIEWS}
        for name in VIEWS:
            _in_turn(bench, root, name, seed)
    changes = [_after(bench, root, change, overwrites, newest) for change in CHANGES]
    for name in VIEWS:
        overwritten(bench, root, name)
        for mode in _MODES:
            check(bench, root, name, mode)
    return {"changes": changes, **auto(changes)}


def auto(changes: list[Figures]) -> Figures:
    """Mode auto beside the faster one of the other modes.

    `auto_of_view`: of the view for which it took longest, after all changes. `auto_chosen`: at worst, what the modes
    that it chose took when they were asked for. `all_auto_of_better`: of all views after all changes.
    """
    found = [view for change in changes for view in change["views"].values()]
    by_view = [[change["views"][name] for change in changes] for name in changes[0]["views"]]
    return {
        "auto_of_view": max(map(_auto_of_better, by_view)),
        "auto_chosen": max(map(_chosen_of_better, found)),
        "all_auto_of_better": _auto_of_better(found),
    }


def _auto_of_better(views: list[Figures]) -> float:
    return float(sum(median(view["seconds"][Mode.AUTO]) for view in views) / sum(map(_better, views)))


def _chosen_of_better(view: Figures) -> float:
    return float(mean(median(view["seconds"][mode]) for mode in view["auto"]) / _better(view))


def _change(bench: Bench, root: Path, change: Change, seed: int, newest: int) -> None:
    change_orders(bench, root, change, seed, newest)
    add_day(bench, root, change, seed, newest)


def _after(bench: Bench, root: Path, change: Change, overwrites: dict[str, float], newest: int) -> Figures:
    """What the refreshes took after several changes of one kind."""
    seeds = 100 * (1 + CHANGES.index(change))
    taken: dict[str, Figures] = {
        name: {"seconds": {mode: [] for mode in _MODES}, "auto": [], "reasons": []} for name in overwrites
    }
    for seed in range(_TIMES):
        _change(bench, root, change, seeds + seed, newest)
        for name, figures in taken.items():
            found = _in_turn(bench, root, name, seed)
            contenders.must_follow(found[Mode.INCREMENTAL]["mode"], found[Mode.INCREMENTAL]["reason"])
            for mode in _MODES:
                figures["seconds"][mode].append(found[mode]["refresh"])
            figures["auto"].append(found[Mode.AUTO]["mode"])
            figures["reasons"].append(found[Mode.AUTO]["reason"])
    for name, figures in taken.items():
        seconds = figures["seconds"]
        figures["of_overwrite"] = median(seconds[Mode.INCREMENTAL]) / overwrites[name]
        figures["auto_of_better"] = median(seconds[Mode.AUTO]) / _better(figures)
    shown = ", ".join(f"{name} {f['of_overwrite']:.2f} auto {f['auto_of_better']:.2f}" for name, f in taken.items())
    sys.stderr.write(f"bench: keyed {change.share:.3%} {change.where}: {shown}\n")
    return {"share": change.share, "where": change.where, "views": taken}


def _in_turn(bench: Bench, root: Path, name: str, seed: int) -> dict[Mode, Figures]:
    """The refreshes of a view in each mode; each time another is the first that reads the new files."""
    first = seed % len(_MODES)
    return {mode: refreshed(bench, root, name, mode) for mode in _MODES[first:] + _MODES[:first]}


def _better(figures: Figures) -> float:
    return float(min(median(figures["seconds"][mode]) for mode in (Mode.INCREMENTAL, Mode.FULL)))


def in_small(bench: Bench) -> Figures:
    """What a refresh takes whatever its tables are: views of small tables after a few changes."""
    seconds = _measured(bench, "fixed", FEW, _TIMES_FIXED)
    return {"share": FEW.share, "seconds": seconds, "most": max(map(median, seconds.values()))}


def in_grown(bench: Bench, larger: Bench, times: float) -> Figures:
    """Views of two lakes, of which the second is so many times as large, after the same number of changes."""
    small = _measured(bench, "grown_from", USUAL, _TIMES)
    large = _measured(larger, "grown_to", Change(SHARE / times, SCATTERED), _TIMES)
    ratios = {name: median(large[name]) / median(small[name]) for name in VIEWS}
    return {"times": times, "small": small, "large": large, "ratios": ratios, "most": max(ratios.values())}


def _measured(bench: Bench, section: str, change: Change, times: int) -> dict[str, Sequence[float]]:
    """The seconds of each view after changes of one kind, so many times."""
    root, newest = created(bench, section, VIEWS, merge=False)
    taken: dict[str, list[float]] = {name: [] for name in VIEWS}
    for seed in range(WARM_UPS + times):
        _change(bench, root, change, seed, newest)
        for name, seconds in taken.items():
            found = refreshed(bench, root, name)
            if seed >= WARM_UPS:
                contenders.must_follow(found["mode"], found["reason"])
                seconds.append(found["refresh"])
    return dict(taken)
