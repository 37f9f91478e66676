"""A sample of the target that is computed again beside an incremental refresh (`verify_share`)."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.ports.tasks import CompareTask
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_sample import is_drawn
from airflow_refresh_provider.testing.memory_table import Rows as StoredRows
from tests.unit.runner.shop import NAME, Shop, order
from tests.unit.runner.test_added_up import TOTALS, WatchingEngine
from tests.unit.runner.test_keyed import ForgetfulEngine


def sampling_shop(query: str | None = None, share: float = 1.0, **changes: Any) -> Shop:
    """After a first refresh and a verified one."""
    shop = Shop(*([query] if query else []), verify_share=share, **changes)
    shop.begin()
    return shop


def test_rows_that_nothing_touches_are_computed_again_and_not_applied() -> None:
    shop = sampling_shop()
    shop.lake.append("/in/orders", [order(20, 1)])
    result = shop.run()
    assert (result.mode, result.touched, result.sampled, result.notices) == ("incremental", 1, 4, ())
    assert result.rows == Rows(updated=1, unchanged=4)


def test_without_a_share_nothing_is_sampled() -> None:
    shop = sampling_shop(share=0.0)
    shop.lake.append("/in/orders", [order(20, 1)])
    assert shop.run().sampled is None


@pytest.mark.parametrize("kept", [0, 1])
def test_a_touched_value_that_the_analysis_misses_is_found_repaired_and_ends_incremental_refreshes(kept: int) -> None:
    shop = sampling_shop(redact_keys=False)
    shop.use(ForgetfulEngine(shop.lake, kept=kept))
    shop.lake.append("/in/orders", [order(20, 1), order(21, 2)])
    result = shop.run()
    missed = 2 - kept
    assert (result.mode, result.mode_code, result.sampled) == ("full", "verification", 5 - kept)
    assert "a sample of" in (result.mode_reason or "") and result.rows.updated == 2
    assert [notice.code for notice in result.notices] == ["verification_failed"]
    assert f"in {missed} change" in result.notices[0].message and "such as k=" in result.notices[0].message
    shop.lake.append("/in/orders", [order(22, 1)])
    assert shop.run().mode_code == "verification_failed"


def test_a_sample_shows_no_keys_where_these_are_redacted() -> None:
    shop = sampling_shop()
    shop.use(ForgetfulEngine(shop.lake, kept=0))
    shop.lake.append("/in/orders", [order(20, 1)])
    (notice,) = shop.run().notices
    assert "such as #" in notice.message and "k=" not in notice.message


def test_a_strict_run_is_repaired_too() -> None:
    shop = sampling_shop()
    shop.use(ForgetfulEngine(shop.lake, kept=0))
    shop.lake.append("/in/orders", [order(20, 1)])
    assert shop.refreshes.run(NAME, Request(workers=1, strict=True)).mode_code == "verification"


def test_groups_that_were_added_up_are_sampled_with_their_changes() -> None:
    shop = sampling_shop(TOTALS)
    engine = WatchingEngine(shop.lake)
    shop.use(engine)
    shop.lake.append("/in/orders", [order(20, 1)])
    result = shop.run()
    assert (result.mode, result.sampled, engine.added_up, engine.touched) == ("incremental", 4, 1, 0)
    engine.off = 1
    shop.lake.append("/in/orders", [order(21, 1)])
    result = shop.run()
    assert (result.mode_code, [notice.code for notice in result.notices]) == ("verification", ["verification_failed"])


class ShortEngine(MemoryEngine):
    """Gives too few rows where it reads only what the values of a sample need, as a wrong restriction would."""

    def open(self, session_id: str) -> MemorySession:
        return ShortSession(self, session_id)


class ShortSession(MemorySession):
    def _both_sides(self, task: CompareTask) -> tuple[StoredRows, StoredRows]:
        desired, found = super()._both_sides(task)
        return (desired[1:] if task.touched and "of-sample" in task.location else desired), found


def test_a_sample_that_differs_where_the_whole_query_does_not_ends_incremental_refreshes_too() -> None:
    shop = sampling_shop()
    shop.use(ShortEngine(shop.lake))
    shop.lake.append("/in/orders", [order(20, 1)])
    result = shop.run()
    assert result.rows == Rows(updated=1, unchanged=4)
    assert "in 1 change" in result.notices[0].message
    shop.lake.append("/in/orders", [order(22, 1)])
    assert shop.run().mode_code == "verification_failed"


def test_each_run_draws_other_values_and_a_repeated_load_the_same() -> None:
    drawn = [{k for k in range(1000) if is_drawn((k,), 0.1, run)} for run in ("one", "two", "one")]
    assert drawn[0] == drawn[2] != drawn[1]
    assert all(60 < len(values) < 140 for values in drawn)
