"""Mode AUTO does what takes less time by the refreshes before, and both estimates are shown wherever a refresh is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.run.measured import Measured
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.core.strategy.costing import TRY_AGAIN_AFTER
from airflow_refresh_provider.errors import Refused, Retry
from airflow_refresh_provider.ports.tasks import (
    ApplyTask,
    CompareTask,
    Comparison,
    Disagreement,
    Touched,
    TouchTask,
    VerifyTask,
)
from airflow_refresh_provider.ports.world import Clock
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.run_details import run_detail
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.views.lines import Lines
from airflow_refresh_provider.views.sentences import refreshed
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.shop import NAME, ONE, Shop, customer, order

FULL = Request(workers=1, mode=Mode.FULL)


class Pace:
    """How long the acts of an engine take, in seconds."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.touching = 1.0
        self.following = 2.0
        self.whole = 20.0
        self.applying = 3.0
        self.verifying = 4.0
        self.expected_rows: list[int] = []


class PacedEngine(MemoryEngine):
    def __init__(self, shop: Shop) -> None:
        super().__init__(shop.lake)
        self.pace = Pace(shop.refreshes.ports.clock)

    def open(self, session_id: str) -> MemorySession:
        self.lake.step("open session")
        return PacedSession(self, session_id)


class PacedSession(MemorySession):
    def __init__(self, engine: PacedEngine, session_id: str) -> None:
        super().__init__(engine, session_id)
        self._pace = engine.pace

    def touch(self, task: TouchTask) -> Touched:
        self._pace.clock.sleep(self._pace.touching)
        return super().touch(task)

    def compare(self, task: CompareTask) -> Comparison:
        self._pace.clock.sleep(self._pace.following if task.touched else self._pace.whole)
        if task.touched:
            self._pace.expected_rows.append(task.expected_rows)
        return super().compare(task)

    def verify(self, task: VerifyTask) -> Disagreement:
        self._pace.clock.sleep(self._pace.verifying)
        return super().verify(task)

    def apply(self, task: ApplyTask) -> None:
        self._pace.clock.sleep(self._pace.applying)
        super().apply(task)


class PacedShop(Shop):
    """A shop with so many customers that one of them is a small share."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**({"mode": "auto"} | changes))
        self.lake.append("/in/customers", [customer(k) for k in range(100, 300)])
        engine = PacedEngine(self)
        self.pace = engine.pace
        self.use(engine)
        self._orders = 1000

    def change(self, customers: int = 1) -> None:
        self._orders += customers
        self.lake.append("/in/orders", [order(self._orders - n, 100 + n) for n in range(customers)])

    def refresh(self, request: Request = ONE) -> RunResult:
        """Refreshes the target, without comparing it afterwards."""
        return self.refreshes.run(NAME, request)

    def changed(self, times: int = 1, customers: int = 1) -> RunResult:
        for _ in range(times):
            self.change(customers)
            result = self.refresh()
        return result

    @property
    def measured(self) -> Measured:
        return self.record.measured


@pytest.fixture
def shop() -> PacedShop:
    made = PacedShop()
    made.refresh()
    return made


def small(shop: PacedShop) -> None:
    """From now on computing everything takes no time."""
    shop.pace.whole = 0.5


def test_a_verification_measures_both_ways(shop: PacedShop) -> None:
    assert (shop.measured.incremental, shop.measured.full) == ((), ())
    assert shop.measured.first is not None and shop.measured.first.seconds == 3.0
    assert shop.changed().mode_code == "verification"
    found = shop.measured
    (changes,), (whole,) = found.incremental, found.full
    assert (changes.finding, changes.following, whole.seconds) == (1.0, 2.0, 20.0)
    assert changes.share == pytest.approx(1 / 205, abs=1e-6) and found.rest == (3.0,)
    assert whole.input_bytes and changes.change_bytes and changes.change_bytes < whole.input_bytes


def test_each_way_is_measured_by_refreshes_of_its_kind(shop: PacedShop) -> None:
    shop.changed(times=9)
    assert [one.finding + one.following for one in shop.measured.incremental] == [3.0] * 5
    assert len(shop.measured.full) == 1
    shop.change()
    assert shop.refresh(Request(workers=1, mode="full")).mode == "full"  # type: ignore[arg-type]
    assert len(shop.measured.full) == 2 and shop.measured.since_tried == 1
    shop.changed()
    assert shop.measured.since_tried == 0


def test_the_faster_way_is_taken_and_shown(shop: PacedShop) -> None:
    shop.changed(times=2)
    result = shop.changed()
    assert (result.mode, result.estimates.incremental_seconds) == ("incremental", 6.0)
    assert result.estimates.full_seconds == pytest.approx(23.0, abs=1.0), "the inputs have grown a little"
    assert result.spent is not None and result.spent.worked_seconds == 6.0
    small(shop)
    shop.changed(times=3)
    shop.change()
    shop.refresh(FULL)
    result = shop.changed()
    assert (result.mode, result.mode_code, result.touched) == ("full", "full_cheaper", None)
    assert result.estimates == Estimates(incremental_seconds=6.0, full_seconds=3.5)
    assert result.mode_reason == "computing everything would take about 3.5 s, following the changes 6.0 s"
    assert result.foreseen is not None and result.foreseen.code == "full_cheaper"
    assert "[full_cheaper]" in str(_shown(shop)) and "incremental 6 s, full 3.5 s" in str(_shown(shop))
    assert "; foreseen: incremental 6 s, full 3.5 s;" in refreshed(result)
    kept = shop.refreshes.history(NAME)[0].result
    assert kept is not None and (kept.estimates, kept.foreseen) == (result.estimates, result.foreseen)


def _shown(shop: PacedShop) -> list[str]:
    return [str(row) for row in table_of([shop.refreshes.explain(NAME)]).rows]


def test_mode_incremental_is_never_made_full_by_cost() -> None:
    shop = PacedShop(mode="incremental")
    small(shop)
    shop.refresh()
    shop.changed()
    for customers in (1, 150, 1):
        result = shop.changed(customers=customers)
        assert (result.mode, result.mode_code) == ("incremental", "changes")
        assert result.estimates.full_seconds is not None


def test_explain_foresees_what_then_happens(shop: PacedShop) -> None:
    for act in range(4):
        if act == 2:
            small(shop)
        shop.change()
        coming = shop.refreshes.explain(NAME).next
        result = shop.refresh()
        assert coming is not None and result.foreseen == coming
        if result.mode_code != "verification":
            assert (coming.mode, coming.code, coming.estimates) == (result.mode, result.mode_code, result.estimates)
    last = shop.refreshes.explain(NAME).last
    assert last is not None and last.foreseen is not None and last.seconds == 6.0
    assert last.foreseen.incremental_seconds == 6.0


def test_what_changes_touch_may_have_everything_computed_after_all(shop: PacedShop) -> None:
    shop.pace.following, shop.pace.whole = 15.0, 20.0
    shop.changed(times=3)
    result = shop.changed(customers=40)
    assert (result.mode, result.mode_code) == ("full", "full_cheaper")
    assert result.foreseen is not None and (result.foreseen.mode, result.foreseen.code) == ("incremental", "changes")
    assert result.estimates.incremental_seconds is not None and result.foreseen.incremental_seconds is not None
    assert result.estimates.incremental_seconds > result.foreseen.incremental_seconds
    assert (len(shop.measured.turned), shop.measured.since_tried) == (1, 0)
    assert shop.measured.full[0].seconds == 20.0, "without the time in which the changes were found"


def test_a_run_in_progress_shows_what_was_foreseen(shop: PacedShop) -> None:
    shop.changed(times=2)
    shop.change()
    said: list[str] = []
    ports = replace(shop.refreshes.ports, watch=Lines(said.append))
    with at(shop.lake, "begin /gold", disconnected), pytest.raises(Retry):
        Refreshes(ports).run(NAME, ONE)
    run = shop.record.run
    assert run is not None and run.plan.foreseen is not None
    detail = run_detail(ports, NAME, run.run_id)
    assert detail.estimates == run.estimates and detail.estimates.text
    assert [line for line in said if " reads " in line and line.endswith(f"; foreseen: {run.plan.foreseen.text}")]
    result = shop.refresh()
    assert run_detail(ports, NAME, result.run_id or "").estimates == result.estimates == detail.estimates


def test_where_changes_touch_too_much_each_time_they_are_not_looked_for(shop: PacedShop) -> None:
    shop.changed()
    assert [shop.changed(customers=150).touched for _ in range(2)] == [None, None]
    assert len(shop.measured.turned) == 2
    result = shop.changed(customers=150)
    assert result.foreseen is not None
    assert (result.mode_code, result.foreseen.code) == ("too_many_touched", "too_many_touched")
    assert "of the last 2 refreshes were no larger" in (result.mode_reason or "")
    assert shop.changed().mode == "incremental"
    assert not shop.measured.turned


def test_what_was_dearer_is_tried_again(shop: PacedShop) -> None:
    shop.changed(times=2)
    small(shop)
    shop.change()
    shop.refresh(FULL)
    codes = [shop.changed().mode_code for _ in range(TRY_AGAIN_AFTER)]
    assert codes == ["full_cheaper"] * (TRY_AGAIN_AFTER - 1) + ["changes"]


def test_a_resumed_run_says_nothing_of_its_time(shop: PacedShop) -> None:
    shop.changed()
    before = shop.measured
    shop.change()
    with at(shop.lake, "begin /gold", disconnected), pytest.raises(Retry):
        shop.refresh()
    assert shop.refresh().attempts == 2
    assert shop.measured == before


def test_another_query_has_other_costs(shop: PacedShop) -> None:
    shop.changed(times=2)
    shop.register(mode="auto", tags=["same query"])
    assert shop.measured.incremental
    shop.register("SELECT k, name FROM customers", mode="auto", inputs={"customers": {"path": "/in/customers"}})
    assert shop.measured == Measured()


def test_a_strict_run_fails_where_everything_would_be_computed_by_cost(shop: PacedShop) -> None:
    small(shop)
    shop.changed(times=2)
    shop.change()
    with pytest.raises(Refused, match=r"full_cheaper"):
        shop.refresh(Request(workers=1, strict=True))
    assert shop.refresh().mode_code == "full_cheaper"


def test_a_refresh_that_nothing_has_changed_for_is_not_measured(shop: PacedShop) -> None:
    shop.changed(times=2)
    before = shop.measured
    shop.lake.optimize("/in/orders")
    shop.refresh()
    assert shop.measured == before


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k, name, row_number() OVER (PARTITION BY name ORDER BY k) AS place FROM customers", [206, 207]),
        ("SELECT k, name, row_number() OVER (PARTITION BY k ORDER BY name) AS place FROM customers", [206, 16]),
    ],
    ids=["one value for all rows", "one value for one row"],
)
def test_as_many_rows_are_expected_as_the_touched_values_stand_for(query: str, expected: list[int]) -> None:
    """All of the input before a refresh has said how many that are."""
    shop = PacedShop(query=query, mode="incremental", inputs={"customers": {"path": "/in/customers"}})
    shop.refresh()
    for k in (500, 501):
        shop.lake.append("/in/customers", [customer(k)])
        assert shop.run().mode_code in ("verification", "changes")
    assert shop.pace.expected_rows == expected
