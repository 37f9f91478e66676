"""What a bench has to reach, and how the figures of a run stand to it. A figure may be as large as its floor."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures import Figures


@dataclass(frozen=True)
class Floor:
    """The most that a figure may be. `at` leads to it in the raw figures, from its section on; of several, the median
    counts.
    """

    what: str
    at: tuple[str, ...]
    most: float
    unit: str = ""


@dataclass(frozen=True)
class Standing:
    """A figure beside its floor."""

    floor: Floor
    figure: float

    @property
    def kept(self) -> bool:
        """Whether the figure is no worse."""
        return self.figure <= self.floor.most


FLOORS = (
    Floor("first load, of an overwrite", ("first_load", "ratio"), 1.5),
    Floor("0 rows changed, of an overwrite", ("changed", "0.0", "of_overwrite"), 0.8),
    Floor("1 % changed, of an overwrite", ("changed", "0.01", "of_overwrite"), 1.0),
    Floor("1 % changed, of a stock MERGE", ("changed", "0.01", "of_merge"), 1 / 2),
    Floor("incremental, scattered, of an overwrite", ("incremental", "scattered", "of_overwrite"), 0.5),
    Floor("incremental, scattered, of a stock MERGE", ("incremental", "scattered", "of_merge"), 1 / 6),
    Floor("incremental, newest, of an overwrite", ("incremental", "newest", "of_overwrite"), 0.35),
    Floor("incremental, in a table 4 times as large", ("incremental", "larger", "ratio"), 2),
    Floor("aggregate, 0.1 % of orders changed, of an overwrite", ("keyed", "aggregate", "of_overwrite"), 0.65),
    Floor("sums, 0.1 % of orders changed, of an overwrite", ("keyed", "sums", "of_overwrite"), 1.0),
    Floor("join, 0.1 % of orders changed, of an overwrite", ("keyed", "join", "of_overwrite"), 0.65),
    Floor("latest row, 0.1 % of orders changed, of an overwrite", ("keyed", "latest", "of_overwrite"), 1.0),
    Floor("new day by month, of an overwrite", ("keyed_reports", "months", "of_overwrite"), 0.5),
    Floor("TPC-H 3, 0.1 % of orders changed, of an overwrite", ("keyed_reports", "q3", "of_overwrite"), 0.9),
    Floor("TPC-H 18, 0.1 % of orders changed, of an overwrite", ("keyed_reports", "q18", "of_overwrite"), 0.9),
    Floor("aggregate, scale 5, of an overwrite", ("keyed_larger", "aggregate", "of_overwrite"), 0.4),
    Floor("sums, scale 5, of an overwrite", ("keyed_larger", "sums", "of_overwrite"), 1.0),
    Floor("join, scale 5, of an overwrite", ("keyed_larger", "join", "of_overwrite"), 0.4),
    Floor("latest row, scale 5, of an overwrite", ("keyed_larger", "latest", "of_overwrite"), 0.6),
    Floor("new day by month, scale 5, of an overwrite", ("keyed_larger", "months", "of_overwrite"), 0.25),
    Floor("TPC-H 3, scale 5, of an overwrite", ("keyed_larger", "q3", "of_overwrite"), 0.5),
    Floor("TPC-H 18, scale 5, of an overwrite", ("keyed_larger", "q18", "of_overwrite"), 0.5),
    Floor("15 orders changed in small tables, the slowest query", ("keyed_fixed", "most"), 3, "s"),
    Floor("modes that auto chose, of the faster one, at worst", ("keyed_changes", "auto_chosen"), 1.15),
    Floor("mode auto, of the faster mode, by query", ("keyed_changes", "auto_of_view"), 1.15),
    Floor("as many changes, scale 5 of scale 1, at worst", ("keyed_grown", "most"), 2),
    Floor("all rows of 300 days changed, of an overwrite", ("partitions", "changes", "all rows", "of_overwrite"), 1.2),
    Floor("due, in the process", ("incremental", "due", "looks"), 0.1, "s"),
    Floor("due, as a command", ("incremental", "due", "commands"), 0.6, "s"),
    Floor("nothing changed, as a command", ("unchanged", "command"), 1, "s"),
    Floor("client, nothing changed", ("unchanged", "client_peak_mb"), 400, "MB"),
    Floor("rest of a load killed at half, of undisturbed", ("resumed", "ratio"), 0.65),
    Floor("client, a load", ("resumed", "client_peak_mb"), 400, "MB"),
    Floor("50 tables, nothing to do, as a command", ("many", "nothing"), 2, "s"),
    Floor("50 tables, one row changed in each, 4 at a time", ("many", "changed"), 30, "s"),
    Floor("one of them, as a command", ("many", "one"), 2, "s"),
    Floor("progress commit", ("control", "progress_commit_ms"), 50, "ms"),
    Floor("listing of 1,000 definitions", ("control", "list_definitions_ms"), 1000, "ms"),
    Floor("page of 1,000 definitions", ("page", "overview_ms"), 300, "ms"),
    Floor("page of a definition with 100 runs", ("page", "definition_ms"), 100, "ms"),
    Floor("page of a run", ("page", "run_ms"), 100, "ms"),
    Floor("page of the costs of 100,000 runs", ("page", "costs_ms"), 300, "ms"),
)


def standings(raw: Figures, sections: Collection[str]) -> tuple[Standing, ...]:
    """How the sections that were measured stand; what is kept of earlier runs says nothing of this one."""
    return tuple(Standing(floor, _figure(raw, floor.at)) for floor in FLOORS if floor.at[0] in sections)


def table(found: Iterable[Standing]) -> str:
    """Each figure, its floor, and whether that is kept."""
    lines = [
        f"{s.floor.what:<52}{_shown(s.figure, s.floor.unit):>10}{_shown(s.floor.most, s.floor.unit):>10}"
        f"  {'kept' if s.kept else 'MISSED'}"
        for s in found
    ]
    return "\n".join([f"{'':<52}{'figure':>10}{'floor':>10}", *lines])


def _figure(raw: Figures, at: tuple[str, ...]) -> float:
    value: Any = raw
    for name in at:
        value = value[name]
    return float(median(value) if isinstance(value, list) else value)


def _shown(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".strip() if value < 100 else f"{value:.0f} {unit}".strip()
