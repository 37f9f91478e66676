"""What ended runs have cost, added up by definition, tag and day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.run.costs import ALL, UNTAGGED, Cost, CostsBy, Sums, costs, report, sums_of
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows, RunResult
from airflow_refresh_provider.core.run.spent import Spent

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
TAGS = {"orders": ("sales", "nightly"), "stock": ("nightly",), "people": ()}


def ended(
    name: str, hours_ago: int = 0, seconds: float = 60.0, outcome: str = "succeeded", **done: Any
) -> HistoryEntry:
    published = outcome == "succeeded"
    result: dict[str, Any] = {"run_id": "r", "name": name, "outcome": outcome, "generation": 1, "rows": Rows(updated=2)}
    return HistoryEntry(
        name=name,
        run_id="r",
        outcome=Outcome(outcome),
        at=NOON - timedelta(hours=hours_ago),
        generation=1,
        elapsed_seconds=seconds,
        result=RunResult(**(result | {"mode": "incremental", "published_version": 3} | done)) if published else None,
    )


ENTRIES = [
    ended("orders", mode="full", fell_back=True, seconds=100),
    ended("orders", hours_ago=1, rows=Rows(inserted=1, deleted=4)),
    ended("stock", hours_ago=13, mode="full", seconds=30),
    ended("stock", hours_ago=14, outcome="abandoned", seconds=40),
    ended("people", hours_ago=40, seconds=5),
]


def found(by: str) -> list[Cost]:
    return costs(sums_of(ENTRIES), CostsBy(by), TAGS)


def test_runs_of_a_definition_are_added_up_and_the_most_expensive_come_first() -> None:
    orders, stock, people = found("definition")
    assert orders == Cost(
        of="orders",
        runs=2,
        published=2,
        full=1,
        fell_back=1,
        rows=Rows(inserted=1, updated=2, deleted=4),
        worked_seconds=160,
        longest_seconds=100,
    )
    assert (stock.runs, stock.published, stock.full, stock.fell_back, stock.worked_seconds) == (2, 1, 1, 0, 70)
    assert people.of == "people"


def test_a_run_counts_for_each_tag_of_its_definition() -> None:
    assert [(cost.of, cost.runs) for cost in found("tag")] == [("nightly", 4), ("sales", 2), (UNTAGGED, 1)]


def test_days_are_those_of_the_ends_newest_first() -> None:
    assert [(cost.of, cost.runs) for cost in found("day")] == [("2024-01-31", 2), ("2024-01-30", 2), ("2024-01-29", 1)]


@pytest.mark.parametrize("cut", range(len(ENTRIES) + 1))
@pytest.mark.parametrize("by", CostsBy)
def test_sums_of_parts_come_to_the_sums_of_all(cut: int, by: CostsBy) -> None:
    parts = sums_of(ENTRIES[:cut]) + sums_of(ENTRIES[cut:])
    assert costs(parts, by, TAGS) == costs(sums_of(ENTRIES), by, TAGS)


def test_time_worked_counts_and_of_older_entries_the_time_from_start_to_end() -> None:
    spent = Spent(worked_seconds=20, spark_seconds=15, bytes_written=7)
    waited = ended("orders", seconds=1000).model_copy(update={"spent": spent, "bytes_to_read": 5})
    older = ended("orders", seconds=30)
    unsized = waited.model_copy(update={"bytes_to_read": None})
    (cost,) = costs(sums_of([waited, older, unsized]), CostsBy.DEFINITION, TAGS)
    assert (cost.worked_seconds, cost.longest_seconds, cost.spark_seconds) == (70, 30, 30)
    assert (cost.bytes_written, cost.bytes_to_read, cost.sized) == (14, 5, 1)
    (unknown,) = costs(sums_of([older]), CostsBy.DEFINITION, TAGS)
    assert (unknown.spark_seconds, unknown.bytes_written, unknown.bytes_to_read, unknown.sized) == (None, None, None, 0)


def test_a_report_has_all_views() -> None:
    found = report(sums_of(ENTRIES[:4]), TAGS, NOON, days=1)
    assert found.in_all is not None and (found.in_all.of, found.in_all.runs) == (ALL, 4)
    assert [cost.of for cost in found.by_definition] == ["orders", "stock"]
    assert [cost.of for cost in found.by_tag] == ["nightly", "sales"]
    assert [cost.of for cost in found.by_day] == ["2024-01-31", "2024-01-30"]
    assert report(Sums(), TAGS, NOON, days=1).in_all is None
