"""The end of the demo: the units, and each guarantee beside what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from examples.demo.evidence import Written
from examples.demo.screen import console


@dataclass(frozen=True)
class UnitSeen:
    """A unit of the second refresh: its chunks, the tries of its task, and the chunks its last try found in."""

    unit: int
    chunks: int
    tries: int
    skipped: int


@dataclass(frozen=True)
class Found:
    """The facts that the guarantees are checked against.

    `in_at_kill` counts chunks, by unit, when the kill came; `expected` and `differences` count rows; `refreshed` is
    what the second refresh says of itself, `log` what the target's log says of it.
    """

    units: Sequence[UnitSeen]
    in_at_kill: Mapping[int, int]
    rows_before: int
    refreshed: Mapping[str, Any]
    expected: int
    differences: int
    log: Written


def show(found: Found) -> bool:
    """Print the result. Returns whether every guarantee was kept."""
    units = Table("unit", "tries", "chunks", "in before its last try", "applied by it")
    for unit in found.units:
        units.add_row(*map(str, (unit.unit, unit.tries, unit.chunks, unit.skipped, unit.chunks - unit.skipped)))
    console.print(units)
    promises = _promises(found)
    table = Table("promised", "found", "kept")
    for promised, found_text, kept in promises:
        table.add_row(promised, found_text, "[green]yes[/green]" if kept else "[red]NO[/red]")
    console.print(table)
    return all(kept for _, _, kept in promises)


def _promises(found: Found) -> list[tuple[str, str, bool]]:
    hit = [unit for unit in found.units if unit.tries > 1]
    skipped = sum(unit.skipped for unit in hit)
    in_before = sum(found.in_at_kill.get(unit.unit, 0) for unit in hit)
    chunks = sum(unit.chunks for unit in found.units)
    rows, log = found.refreshed["rows"], found.log
    gone = rows["updated"] + rows["deleted"]
    total = found.rows_before + rows["inserted"] - rows["deleted"]
    return [
        ("Airflow tried again what was killed", f"{len(hit)} of {len(found.units)} units tried again", bool(hit)),
        (
            "chunks that were in were skipped",
            f"{skipped} skipped, {sum(unit.chunks for unit in hit) - skipped} applied by the units tried again",
            0 < in_before <= skipped,
        ),
        (
            "no chunk was applied twice",
            f"{chunks} chunks in {log.commits} commits that wrote data",
            chunks == log.commits,
        ),
        (
            "exactly the changes were applied",
            f"{rows['inserted']} inserted, {rows['updated']} updated, {rows['deleted']} deleted",
            rows["inserted"] + rows["updated"] == found.expected and rows["deleted"] > 0,
        ),
        (
            "only changed rows were written",
            f"{log.into_new_files} rows into new files, {log.marked_gone} marked gone, of {total:,}",
            (log.into_new_files, log.marked_gone) == (found.expected, gone),
        ),
        ("the target equals the query, row for row", f"{found.differences} rows differ", found.differences == 0),
    ]
