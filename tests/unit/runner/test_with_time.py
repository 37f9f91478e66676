"""Queries that read the clock in temporal filters: only rows that come and go with time are computed again."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.admin_results import Rebuilt
from airflow_refresh_provider.core.run.explanation import Follows, explanation_by_text
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Invalid, Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_table import Row
from airflow_refresh_provider.views.explanation_lines import how_followed
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.shop import NAME, ONE, TARGET, Shop, columns
from tests.unit.runner.test_keyed import ForgetfulEngine

EVENTS = "/in/events"
WHERE = "WHERE day >= current_date() - INTERVAL 2 DAYS"
RECENT = f"SELECT customer AS k, count(*) AS events FROM events {WHERE} GROUP BY customer"
ROWS = f"SELECT id AS k, customer, day FROM events {WHERE}"
A_DAY = timedelta(days=1).total_seconds()
DAYS = 6
of_both = pytest.mark.parametrize("query", [RECENT, ROWS], ids=["aggregate", "row-wise"])


class Diary(Shop):
    """Events of customers: one of each customer on each of the last days, and on the next ones."""

    def __init__(self, query: str = RECENT, **changes: Any) -> None:
        self._query, self._changes = query, {"inputs": {"events": {"path": EVENTS}}} | changes
        super().__init__(query, **changes)

    def register(self, query: str = RECENT, **changes: Any) -> None:
        if EVENTS not in self.lake.tables:
            found = [
                self.event(10 * day + of, of, day)
                for day in range(-DAYS, DAYS)
                for of in range(4)
                if day % (of + 1) == 0
            ]
            self.lake.create(EVENTS, columns(id="int", customer="int", day="date"), found)
        super().register(query, **({"inputs": {"events": {"path": EVENTS}}} | changes))

    def event(self, number: int, of: int, days: int) -> Row:
        """An event so many days from now."""
        return {"id": number, "customer": of, "day": (self.refreshes.ports.clock.now() + timedelta(days=days)).date()}

    def pass_(self, days: float = 1) -> None:
        self.refreshes.ports.clock.sleep(A_DAY * days)

    def begin(self) -> None:
        """The first refresh, and the first one that follows the clock, which is verified."""
        self.run()
        self.pass_()
        assert self.run().mode_code == "verification"


@of_both
def test_as_time_passes_only_rows_that_come_or_go_are_computed(query: str) -> None:
    diary = Diary(query)
    diary.begin()
    diary.pass_()
    result = diary.run()
    assert (result.mode, result.mode_reason) == ("incremental", "rows that come and go with time")
    assert (result.touched or 0) > 0 and result.rows.unchanged > 0


def test_nothing_is_to_be_done_until_the_clock_reads_something_else() -> None:
    diary = Diary()
    diary.begin()
    assert diary.run().outcome is Outcome.NOTHING_TO_DO
    diary.pass_(1 / 48)
    assert diary.run().outcome is Outcome.NOTHING_TO_DO
    diary.pass_()
    assert diary.run().mode == "incremental"


def test_a_full_refresh_too_has_nothing_to_do_while_the_clock_reads_the_same() -> None:
    diary = Diary("SELECT id AS k, current_date() AS today FROM events", mode="full")
    diary.run()
    assert diary.run().outcome is Outcome.NOTHING_TO_DO
    diary.pass_()
    result = diary.run()
    assert (result.mode, result.mode_code, result.rows.updated) == ("full", "clock", len(diary.lake.rows(EVENTS)))


def test_changes_and_time_are_followed_together() -> None:
    diary = Diary()
    diary.begin()
    diary.pass_()
    diary.lake.append(EVENTS, [diary.event(500, 3, -1), diary.event(501, 9, 1), diary.event(502, 2, -30)])
    result = diary.run()
    assert result.mode == "incremental"
    assert (result.mode_reason or "").startswith("changes of events in version")
    assert (result.mode_reason or "").endswith(" and rows that come and go with time")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options", [{}, {"layout": "vnode", "vnodes": 4}, {"deletes": "ignore"}, {"verify_share": 1.0}], ids=str
)
@of_both
def test_after_any_changes_and_any_time_the_target_equals_the_query(
    query: str, options: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)
    diary = Diary(query, **options)
    diary.refreshes.run(NAME, ONE)
    for _ in range(4):
        diary.pass_(chance.choice([0, 0.1, 1, 2, -1]))
        if chance.random() < 0.6:
            diary.lake.append(
                EVENTS, [diary.event(chance.randrange(1000, 99_999), chance.randrange(6), chance.randint(-3, 3))]
            )
        if chance.random() < 0.3:
            diary.lake.rewrite(EVENTS, lambda row: None if row["id"] % 7 == chance.randrange(7) else row)
        diary.refreshes.run(NAME, ONE)
        assert options.get("deletes") == "ignore" or diary.refreshes.compare_only(NAME, 3).equal


def test_without_the_values_that_time_has_touched_the_result_would_be_wrong() -> None:
    diary = Diary()
    diary.begin()
    diary.pass_()
    diary.use(ForgetfulEngine(diary.lake, kept=0))
    assert diary.refreshes.run(NAME, ONE).mode == "incremental"
    assert not diary.refreshes.compare_only(NAME, 3).equal


def test_a_refresh_is_due_once_the_clock_reads_something_else() -> None:
    diary = Diary(refresh={"interval": "1h"})
    diary.begin()
    diary.pass_(1 / 12)
    assert not diary.refreshes.due(NAME).due
    diary.pass_()
    assert diary.refreshes.due(NAME).due


def test_a_run_that_is_resumed_keeps_the_moment_at_which_it_was_started() -> None:
    diary = Diary()
    diary.begin()
    diary.pass_()
    with at(diary.lake, "store freeze"), pytest.raises(Killed):
        diary.refreshes.run(NAME, ONE)
    moment = diary.record.run and diary.record.run.plan.moment
    diary.pass_()
    diary.next_owner()
    assert diary.refreshes.run(NAME, ONE).mode == "incremental"
    assert diary.record.published and diary.record.published.started_at == moment
    assert diary.run().mode == "incremental", "the rows of both days"


def test_a_restored_cursor_does_not_say_what_was_read_of_the_clock() -> None:
    diary = Diary(adopt=True)
    diary.begin()
    lost = replace(diary.refreshes.ports, store=MemoryControlStore("another"))
    diary.refreshes = Refreshes(lost)
    diary.register(adopt=True)
    found: Rebuilt = diary.refreshes.rebuild_progress(NAME)
    assert "does not say what the query has read of the clock" in found.reason
    diary.pass_()
    result = diary.run()
    assert (result.mode, result.mode_code) == ("full", "clock")
    assert "the moment of the last refresh is not known" in (result.mode_reason or "")
    diary.pass_()
    assert diary.run().mode_code == "verification"


def test_strictly_incremental_refuses_other_uses_of_the_clock_when_it_is_registered() -> None:
    with pytest.raises(Invalid, match=r"the clock function current_date outside of a condition of WHERE .*line 1"):
        Diary("SELECT id AS k, current_date() AS today FROM events")
    diary = Diary("SELECT id AS k, current_date() AS today FROM events", mode="auto")
    diary.run()
    diary.pass_()
    assert diary.run().mode_code == ReasonCode.CLOCK
    diary.pass_()
    with pytest.raises(Refused):
        diary.refreshes.run(NAME, Request(workers=1, strict=True))


def test_it_is_explained() -> None:
    diary = Diary()
    found = diary.refreshes.explain(NAME)
    assert found.follows is Follows.EVERY_INPUT and not found.row_wise
    (events,) = found.inputs
    assert (events.by, events.temporal) == ("k = customer", ("day >= current_date() - INTERVAL '2' DAYS",))
    shown = how_followed(events, found)
    assert (
        shown == "recompute the rows by k = customer, and as time passes for day >= current_date() - INTERVAL '2' DAYS"
    )
    assert explanation_by_text(diary.record.definition, diary.record.facts).follows is Follows.EVERY_INPUT
    diary.begin()
    diary.pass_()
    coming = diary.refreshes.explain(NAME).next
    assert coming is not None and coming.reason == "rows that come and go with time"
    assert diary.run().mode_reason == coming.reason
    assert diary.lake.rows(TARGET)
