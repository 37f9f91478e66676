"""The part of `docs/benchmarks.md` about incremental refreshes of joins, aggregates and windows."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from benchmarks.figures import Figures
from benchmarks.keyed_views import VIEWS


def _keyed(raw: Figures) -> str:
    return "\n".join(
        [
            "## Incremental refreshes of joins, aggregates and windows\n",
            f"{raw['share']:.1%} of the orders changed with their lines, scattered over all keys; the inputs keep a "
            "change data feed. Overwrite and stock MERGE evaluate the whole query. By hand: a MERGE of the query "
            "restricted to the keys of the last change, as incremental models are written; it knows its keys from the "
            "text, removes nothing, and cannot be resumed. `times` is how often each was measured.\n",
            *_views(raw),
        ]
    )


def _views(raw: Figures) -> list[str]:
    lines = [
        "| query | times | touched values | refresh (s) | overwrite (s) | stock MERGE (s) | by hand (s) | of overwrite "
        "| of MERGE | of by hand |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, view in VIEWS.items():
        if figures := raw.get(name):
            contenders = ("overwrite", "merge", "by_hand")
            cells = [view.title, str(len(figures["refresh"])), f"{median(figures['touched']):,.0f}"]
            cells += (_seconds(figures.get(measured)) for measured in ("refresh", *contenders))
            cells += (_ratio(figures.get(f"of_{contender}")) for contender in contenders)
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _seconds(measured: list[float] | None) -> str:
    return f"{median(measured):.1f}" if measured else "-"


def _ratio(found: float | None) -> str:
    return "-" if found is None else f"{found:.2f}"


def _keyed_larger(raw: Figures) -> str:
    return "\n".join([f"At scale {raw['scale']:g}:\n", *_views(raw)])


def _keyed_changes(raw: Figures) -> str:
    lines = [
        "After other changes, in seconds and of an overwrite; then in mode auto, of the faster one of the modes "
        "incremental and full, and in brackets what it did if that was not incremental each time:\n",
        *_by_view(_incremental_cell, raw["changes"]),
        *_by_view(_auto_cell, raw["changes"]),
        f"All of these refreshes in mode auto take {raw['all_auto_of_better']:.2f} of the faster modes, those of one "
        f"query at most {raw['auto_of_view']:.2f}; two refreshes after the same change differ by more. The modes that "
        f"it chose took at most {raw['auto_chosen']:.2f} of the faster ones where they were asked for.\n",
    ]
    return "\n".join(lines)


def _by_view(cell: Callable[[Figures], str], changes: list[Figures]) -> list[str]:
    lines = [
        f"| orders changed | {' | '.join(view.title.partition(',')[0] for view in VIEWS.values())} |",
        f"|---|{'---|' * len(VIEWS)}",
    ]
    for found in changes:
        cells = (cell(found["views"][name]) for name in VIEWS)
        lines.append(f"| {100 * found['share']:g} %, {found['where']} | {' | '.join(cells)} |")
    return [*lines, ""]


def _incremental_cell(figures: Figures) -> str:
    return f"{median(figures['seconds']['incremental']):.1f} ({figures['of_overwrite']:.2f})"


def _auto_cell(figures: Figures) -> str:
    modes = sorted(set(figures["auto"]) - {"incremental"})
    return f"{figures['auto_of_better']:.2f}{f' ({modes[0]})' if modes else ''}"


def _keyed_grown(raw: Figures) -> str:
    lines = [
        f"As many changed rows in a lake {raw['times']:g} times as large, in seconds:\n",
        "| query | small | large | times as long |",
        "|---|---|---|---|",
        *(
            f"| {view.title} | {median(raw['small'][name]):.1f} | {median(raw['large'][name]):.1f} | "
            f"{raw['ratios'][name]:.1f} |"
            for name, view in VIEWS.items()
        ),
    ]
    return "\n".join([*lines, ""])


def _keyed_fixed(raw: Figures) -> str:
    lines = [
        f"What a refresh takes whatever the size of its tables is: {100 * raw['share']:g} % of the orders changed, "
        f"about 15, at scale {raw['scale']:g}, in seconds:\n",
        "| query | times | refresh (s) |",
        "|---|---|---|",
        *(
            f"| {view.title} | {len(raw['seconds'][name])} | {median(raw['seconds'][name]):.1f} |"
            for name, view in VIEWS.items()
        ),
    ]
    return "\n".join([*lines, ""])


def _pipelines(raw: Figures) -> str:
    lines = [
        f"Beside Spark's declarative pipelines, {raw['share']:.1%} of the orders changed: each query as a materialized "
        "view, on a warm server of its own with the same settings. A run computes the whole query, empties the table "
        "and appends the result.\n",
        "| query | times | refresh (s) | overwrite (s) | pipeline (s) | of pipeline |",
        "|---|---|---|---|---|---|",
    ]
    for name, figures in raw["views"].items():
        cells = [VIEWS[name].title, str(len(figures["refresh"]))]
        cells += (_seconds(figures[key]) for key in ("refresh", "overwrite", "pipeline"))
        lines.append(f"| {' | '.join(cells)} | {_ratio(figures['of_pipeline'])} |")
    return "\n".join([*lines, ""])


def _partitions(raw: Figures) -> str:
    first = raw["first_load"]
    lines = [
        f"{raw['days']} days of a table of two years by day change, without a change data feed, at scale "
        f"{raw['scale']:g}; the query ranks the lines of each day, and the target is partitioned by day too. By hand: "
        "INSERT INTO ... REPLACE WHERE of these days.\n",
        f"The first load took {first['refresh']:.1f} s and made {first['files']} files; CREATE TABLE AS SELECT took "
        f"{first['by_hand']:.1f} s.\n",
        "| changed in each day | rows of the days are | written | refresh (s) | by hand (s) | overwrite (s) "
        "| of by hand | of overwrite |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for what, figures in raw["changes"].items():
        written = median(found["inserted"] + found["updated"] for found in figures["rows"])
        cells = [what, "replaced" if figures["notices"][-1] else "compared", f"{written:,.0f}"]
        cells += (f"{median(figures[key]):.1f}" for key in ("refresh", "by_hand", "overwrite"))
        cells += (_ratio(figures[f"of_{other}"]) for other in ("by_hand", "overwrite"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


KEYED = {
    "keyed": _keyed,
    "keyed_reports": lambda raw: "\n".join(_views(raw)),
    "keyed_changes": _keyed_changes,
    "keyed_larger": _keyed_larger,
    "keyed_grown": _keyed_grown,
    "keyed_fixed": _keyed_fixed,
    "pipelines": _pipelines,
    "partitions": _partitions,
}
"""The text of each section, in this order."""
