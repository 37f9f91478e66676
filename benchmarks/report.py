"""The page `docs/benchmarks.md`, written from the raw figures of one run."""

from __future__ import annotations

from statistics import median

from benchmarks.figures import Figures
from benchmarks.keyed_report import KEYED

_LIMITS = """
## What limits a refresh

A full refresh with few changes is a comparison: every column of query and target is read and hashed, keys and hashes
are shuffled and sorted, and only then the changed rows are read again, staged and applied. Where such refreshes follow
each other, checksums of the published rows say which rows to compare (ADR 77). Where nothing has changed, the query is
read and hashed once, and the target is not read. With one row in a hundred changed, both are read once more, to compare
one row in sixteen: Parquet decodes all columns for that. More than one row in fifty, and everything is compared. The
rest is a handful of Spark jobs, of half a second to three seconds each, that a larger table hardly notices. What would
save more is not reading: change feeds of the inputs, and row hashes that the target keeps (layout `vnode`).

An incremental refresh reads and stages its window in little more than a second. Meanwhile Delta computes the whole
state of the target's log, of which the markers of commits are a part. The rest is finding the rows to be replaced:
all keys of the target are read for it, unless the changed ones lie close together, as the newest do, and most files
can be passed over.

A refresh by touched values stages these, then the differences, and commits: a second and a half to two, whatever has
changed. Beside that it reads each input, and the target, as far as the log does not say that a file has no touched
value: Parquet decodes the columns that a query needs of all rows, also of those that are not touched. So a query that
is computed and written in three seconds, such as the latest row or TPC-H 3 at scale 1, can win little; one whose
result is as large as its input, such as the join, wins most. Files in the order of the key (`CLUSTER BY`), and
partitions, can be passed over. Where few rows of many partitions change, each row of these is compared with the
target's and what differs is staged before it is applied; by hand these rows are computed and written, whether they
differ or not. Where many of them change, they are staged, their keys are checked, and they replace the partitions: they
are written twice.

After a few changed rows, tasks take a fifth of the processor time, and Java's compiler a quarter in the first dozens of
refreshes of a server. The rest is planning by Spark and Delta, and what the client does.

On a local disk, where Hadoop has no native library, Spark sets the permissions of each new file or folder, and follows
links before it renames one, by starting a process: 31 of them in a refresh of the join after a few changed rows. Each
takes 2 to 3 ms, or 5 ms while both processors are busy. Storage that is not a local disk has none of that, and waits
for its requests instead.

A first load pays for the check of its keys and for making the table; the overwrite checks nothing.
"""


def page(raw: Figures) -> str:
    """The whole page; a section that was never measured is left out."""
    changed = [_changes(raw["changed"]), _stages(raw["changed"]), _followed(raw["incremental"])]
    newer = [section(raw[name]) for name, section in _NEWER.items() if name in raw]
    return "\n".join([_head(raw), *changed, *newer, _others(raw), _LIMITS])


def _head(raw: Figures) -> str:
    return (
        "# Benchmarks\n\n"
        f"TPC-H lineitem, scale {raw['scale']:g}: {raw['rows']:,} rows, 16 columns, changes scattered over all keys. "
        f"{raw['cores']} cores, Spark {raw['spark']}, Delta {raw['delta']}, one warm server, driver heap 4 GB, "
        f"medians of {raw['runs']}. Layout plain, all defaults. Times vary with the machine; ratios are of one run. "
        "`make bench` writes this page and the raw figures, `benchmarks.json`.\n"
    )


def _changes(changed: dict[str, Figures]) -> str:
    lines = [
        "## Refresh beside an overwrite and a stock MERGE\n",
        "The overwrite writes the query into an unpartitioned table; the MERGE has UPDATE, INSERT and NOT MATCHED BY "
        "SOURCE DELETE clauses. A ratio below 1 means the refresh is faster.\n",
        "| rows changed | refresh (s) | overwrite (s) | stock MERGE (s) | of overwrite | of MERGE |",
        "|---|---|---|---|---|---|",
    ]
    for share, figures in changed.items():
        lines.append(
            f"| {float(share):.1%} | {median(figures['refresh']):.1f} | {median(figures['overwrite']):.1f} | "
            f"{median(figures['merge']):.1f} | {figures['of_overwrite']:.2f} | {figures['of_merge']:.2f} |"
        )
    return "\n".join([*lines, ""])


def _stages(changed: dict[str, Figures]) -> str:
    names = list(next(iter(changed.values()))["stages"][0])
    lines = [
        "Seconds by stage of the refresh:\n",
        f"| rows changed | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for share, figures in changed.items():
        cells = (f"{median(s.get(name, 0.0) for s in figures['stages']):.2f}" for name in names)
        lines.append(f"| {float(share):.1%} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _followed(raw: Figures) -> str:
    lines = [
        "## Incremental refreshes\n",
        f"{raw['share']:.1%} of the rows changed, scattered over all keys or those with the newest keys; the input "
        "keeps a change data feed.\n",
        "| changes | refresh (s) | overwrite (s) | stock MERGE (s) | of overwrite | of MERGE |",
        "|---|---|---|---|---|---|",
    ]
    for what in ("scattered", "newest"):
        figures = raw[what]
        lines.append(
            f"| {what} | {median(figures['refresh']):.1f} | {median(figures['overwrite']):.1f} | "
            f"{median(figures['merge']):.1f} | {figures['of_overwrite']:.2f} | {figures['of_merge']:.2f} |"
        )
    larger, due = raw["larger"], raw["due"]
    lines += [
        "",
        f"The same share of scattered changes in a table {larger['times']} times as large takes {larger['ratio']:.1f} "
        f"times as long ({median(larger['refresh']):.1f} s). Asking whether a refresh is due takes "
        f"{median(due['looks']):.3f} s, as a command {median(due['commands']):.2f} s.",
        "",
        f"Measured once the server has run {len(raw['warming'])} such refreshes, of which the first took "
        f"{raw['warming'][0]:.1f} s: Java compiles while it works. The other contenders have been through more rounds "
        "by then.",
    ]
    names = list(raw["scattered"]["stages"][0])
    cells = (f"{median(s.get(name, 0.0) for s in raw['scattered']['stages']):.2f}" for name in names)
    lines += ["", f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}", f"| seconds | {' | '.join(cells)} |", ""]
    return "\n".join(lines)


def _many(raw: Figures) -> str:
    lines = [
        "## Many tables\n",
        f"{raw['tables']} small tables, incremental, as commands: `run --all` with {raw['workers']} workers, `run` of "
        "one.\n",
        "| what | seconds |",
        "|---|---|",
        f"| all, nothing to do, no Spark | {median(raw['nothing']):.2f} |",
        f"| all, one row changed in each | {median(raw['changed']):.1f} |",
        f"| one, one row changed | {median(raw['one']):.2f} |",
    ]
    return "\n".join([*lines, ""])


_PAGES = {
    "overview": "all definitions",
    "overview_of_the_api": "all definitions, as JSON",
    "definition": "one definition",
    "run": "one run",
    "costs": "costs of all runs",
    "list": "the records of all definitions",
    "look": "a look at one target and its inputs, in the background",
}


def _page(raw: Figures) -> str:
    lines = [
        "## The page\n",
        f"{raw['definitions']:,} definitions with {raw['runs_of_each']} runs each, without the network; milliseconds "
        f"of {raw['tries']} requests.{_busy(raw)}\n",
        "| what | median | least | least time of processors |",
        "|---|---|---|---|",
        *(f"| {text} | {_of_page(raw, name)} |" for name, text in _PAGES.items()),
    ]
    return "\n".join([*lines, ""])


def _busy(raw: Figures) -> str:
    """The measurement itself keeps less than two cores busy."""
    return f" The machine was busy with other work, at a load of {raw['load']:g}." if raw["load"] > 2 else ""


def _of_page(raw: Figures, name: str) -> str:
    return " | ".join(f"{raw[f'{name}{kind}']:.0f}" for kind in ("_ms", "_least_ms", "_cpu_ms"))


_NEWER = {
    **KEYED,
    "many": _many,
    "page": _page,
}


def _others(raw: Figures) -> str:
    first, unchanged, resumed, control = raw["first_load"], raw["unchanged"], raw["resumed"], raw["control"]
    return "\n".join(
        [
            "## Other figures\n",
            "| what | figure |",
            "|---|---|",
            f"| first load, of an overwrite | {first['ratio']:.2f} ({median(first['refresh']):.1f} s) |",
            f"| nothing changed, as a command, no Spark | {median(unchanged['command']):.2f} s |",
            f"| first load in chunks, client killed at half: the rest, of undisturbed | {resumed['ratio']:.2f} |",
            f"| peak memory of the client | {max(resumed['client_peak_mb'], unchanged['client_peak_mb']):.0f} MB |",
            f"| progress commit beside {control['progress_rows']:,} rows | {control['progress_commit_ms']:.0f} ms |",
            f"| listing {control['definitions']:,} definitions | {control['list_definitions_ms']:.0f} ms |",
            f"| newest runs of a table, of {control['history_runs']:,} of 300 | {control['newest_runs_ms']:.0f} ms |",
            f"| maintenance of the control tables with this history | {control['maintenance_ms']:.0f} ms |",
        ]
    )
