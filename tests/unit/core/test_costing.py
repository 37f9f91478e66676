"""What a refresh is foreseen to take either way, and where mode AUTO computes everything because of that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.measured import ChangesSeconds, Measured, WholeSeconds
from airflow_refresh_provider.core.strategy.costing import (
    FIXED_SECONDS,
    TRY_AGAIN_AFTER,
    CostFacts,
    estimates,
    full_is_cheaper,
    share_at_most,
    share_found,
    too_many_touched,
    tried_again,
)

MB = 1_000_000
GB = 1_000 * MB


def changes(finding: float, following: float, bytes: int | None = MB, share: float | None = 0.001) -> ChangesSeconds:
    return ChangesSeconds(finding=finding, following=following, change_bytes=bytes, share=share)


def whole(seconds: float, bytes: int | None = GB) -> WholeSeconds:
    return WholeSeconds(seconds=seconds, input_bytes=bytes)


# 50 MB a second: reading a gigabyte takes 20 s, following a megabyte of changes 3 s.
USUAL = Measured(incremental=(changes(1, 2),) * 2, full=(whole(20),), rest=(2.0,))
# A small table: computing everything takes 2 s, following changes 5 s.
SMALL = Measured(incremental=(changes(2, 3),) * 2, full=(whole(2),), rest=(1.0,))


def facts(measured: Measured, **given: Any) -> CostFacts:
    return replace(CostFacts(measured, change_bytes=MB, input_bytes=GB), **given)


def seconds(measured: Measured, **given: Any) -> tuple[float | None, float | None]:
    found = estimates(facts(measured, **given))
    return found.incremental_seconds, found.full_seconds


def test_nothing_is_foreseen_before_any_refresh() -> None:
    assert estimates(facts(Measured())) == Estimates()


def test_the_rest_of_a_run_is_in_both() -> None:
    assert seconds(USUAL) == (5.0, 22.0)
    assert seconds(USUAL.model_copy(update={"rest": (4.0, 1.0, 3.0)})) == (6.0, 23.0)


def test_changes_that_are_not_followed_have_no_estimate() -> None:
    assert estimates(facts(USUAL), followed=False) == Estimates(full_seconds=22.0)


@pytest.mark.parametrize(
    ("bytes", "full"), [(GB, 22.0), (2 * GB, 40.0), (GB // 2, 13.0), (0, 22.0), (None, 22.0)], ids=str
)
def test_computing_everything_grows_with_the_inputs_but_for_a_fixed_part(bytes: int | None, full: float) -> None:
    assert seconds(USUAL, input_bytes=bytes)[1] == full


def test_the_size_of_the_inputs_need_not_be_known() -> None:
    assert seconds(USUAL.model_copy(update={"full": (whole(20, None),)}))[1] == 22.0
    assert seconds(USUAL.model_copy(update={"full": (whole(20, None),)}), change_bytes=101 * MB) == (15.0, 22.0)


@pytest.mark.parametrize(
    ("bytes", "incremental"), [(MB, 5.0), (26 * MB, 6.0), (501 * MB, 25.0), (0, 5.0), (None, 5.0)], ids=str
)
def test_finding_changes_grows_with_them_by_twice_the_rate_of_a_full_load(bytes: int, incremental: float) -> None:
    assert seconds(USUAL, change_bytes=bytes)[0] == incremental


def test_after_a_large_change_a_small_one_is_foreseen_to_take_what_it_takes_at_least() -> None:
    large = USUAL.model_copy(update={"incremental": (changes(30, 2, bytes=GB),)})
    assert seconds(large)[0] == 2.0 + 1.0 + 2.0
    quick = USUAL.model_copy(update={"incremental": (changes(0.5, 2, bytes=GB),)})
    assert seconds(quick)[0] == 2.0 + 0.5 + 2.0


@pytest.mark.parametrize(("share", "incremental"), [(0.001, 5.0), (0.101, 15.0), (0.2, 24.9), (0.9, 24.9)])
def test_following_them_grows_with_their_share_up_to_a_full_load(share: float, incremental: float) -> None:
    assert seconds(USUAL, share=share)[0] == incremental


def test_after_a_large_share_a_small_one_takes_what_it_takes_at_least() -> None:
    large = USUAL.model_copy(update={"incremental": (changes(1, 9, share=0.1),)})
    assert seconds(large, share=0.001)[0] == 2.0 + 1.0 + 1.0


def test_changes_without_touched_values_do_not_grow_with_a_share() -> None:
    added_up = USUAL.model_copy(update={"incremental": (changes(1, 0, share=None),)})
    assert seconds(added_up, share=0.2)[0] == 3.0


def test_the_lower_median_counts_because_the_first_refresh_compiles() -> None:
    cold = USUAL.model_copy(update={"incremental": (changes(1, 2), changes(9, 9)), "full": (whole(20), whole(60))})
    assert seconds(cold) == (5.0, 22.0)


def test_the_first_load_says_something_where_nothing_else_was_computed() -> None:
    first = Measured(first=whole(20), rest=(2.0,))
    assert seconds(first) == (round(2.0 + FIXED_SECONDS + 2 / 50, 1), 22.0)
    assert seconds(first.model_copy(update={"full": (whole(10),)}))[1] == 12.0


def test_without_sizes_changes_are_taken_to_be_read_at_the_stated_rate() -> None:
    assert seconds(Measured(full=(whole(9, None),)), change_bytes=100 * MB)[0] == FIXED_SECONDS + 10.0


def code(measured: Measured, mode: Mode = Mode.AUTO, **given: Any) -> ReasonCode | None:
    reason = full_is_cheaper(mode, facts(measured, **given))
    return reason.code if reason else None


def test_changes_are_followed_where_that_is_faster() -> None:
    assert code(USUAL) is None
    assert code(USUAL, share=0.001) is None


def test_everything_is_computed_where_that_is_faster() -> None:
    reason = full_is_cheaper(Mode.AUTO, facts(SMALL))
    assert reason is not None and reason.code is ReasonCode.FULL_CHEAPER
    assert reason.text == "computing everything would take about 3.0 s, following the changes 6.0 s"
    assert code(USUAL, change_bytes=501 * MB) is ReasonCode.FULL_CHEAPER
    assert code(USUAL, share=0.19) is None
    assert code(USUAL, share=0.2) is None, "within a second and a tenth of each other"
    assert code(USUAL.model_copy(update={"incremental": (changes(1, 6),) * 2}), share=0.2) is ReasonCode.FULL_CHEAPER


@pytest.mark.parametrize("mode", [Mode.INCREMENTAL, Mode.FULL])
@pytest.mark.parametrize("share", [None, 0.5])
def test_no_other_mode_is_decided_by_cost(mode: Mode, share: float | None) -> None:
    assert code(SMALL, mode, share=share) is None
    assert code(SMALL.model_copy(update={"turned": (1, 1, 1)}), mode, share=share) is None


def test_one_refresh_that_followed_changes_is_too_little_to_decide() -> None:
    assert code(SMALL.model_copy(update={"incremental": SMALL.incremental[:1]})) is None
    added_up = (changes(2, 9), changes(2, 9, share=None))
    assert code(SMALL.model_copy(update={"incremental": added_up}), share=0.1) is None, "one of them had touched values"


def test_a_first_load_is_too_little_to_decide() -> None:
    assert code(SMALL.model_copy(update={"full": (), "first": whole(2)})) is None


@pytest.mark.parametrize(
    ("rest", "incremental", "expected"),
    [
        (0.0, 3.0, None),
        (0.0, 3.2, ReasonCode.FULL_CHEAPER),
        (20.0, 4.1, None),
        (20.0, 4.4, ReasonCode.FULL_CHEAPER),
    ],
)
def test_a_second_and_a_tenth_have_to_be_saved(rest: float, incremental: float, expected: ReasonCode | None) -> None:
    assert code(Measured(incremental=(changes(0, incremental),) * 2, full=(whole(2),), rest=(rest,))) is expected


def test_finding_touched_values_has_been_paid_for_once_they_are_known() -> None:
    slow = USUAL.model_copy(update={"incremental": (changes(25, 2),) * 2})
    assert code(slow) is ReasonCode.FULL_CHEAPER
    assert code(slow, share=0.001) is None


def test_changes_are_followed_again_after_many_full_refreshes_if_they_are_not_far_dearer() -> None:
    waited = {"since_tried": TRY_AGAIN_AFTER}
    soon = SMALL.model_copy(update={"since_tried": TRY_AGAIN_AFTER - 1})
    assert (code(soon), tried_again(facts(soon))) == (ReasonCode.FULL_CHEAPER, False)
    later = SMALL.model_copy(update=waited)
    assert (code(later), code(later, share=0.001), tried_again(facts(later))) == (None, None, True)
    far = SMALL.model_copy(update=waited | {"incremental": (changes(5, 5),) * 2})
    assert (code(far), tried_again(facts(far))) == (ReasonCode.FULL_CHEAPER, False)


def test_where_changes_have_touched_too_much_they_are_not_looked_for() -> None:
    turned = USUAL.model_copy(update={"turned": (3 * MB, 2 * MB)})
    assert code(turned, change_bytes=2 * MB) is ReasonCode.TOO_MANY_TOUCHED
    assert code(turned, change_bytes=2 * MB - 1) is None, "fewer changes may touch less"
    assert code(turned, change_bytes=2 * MB, share=0.001) is None, "they are known by then"
    assert code(USUAL.model_copy(update={"turned": (2 * MB,)}), change_bytes=2 * MB) is None
    assert code(turned.model_copy(update={"since_tried": TRY_AGAIN_AFTER}), change_bytes=2 * MB) is None


def test_values_that_stand_for_more_than_a_fifth_of_the_target_have_everything_computed() -> None:
    assert too_many_touched(Mode.AUTO, 20, share_at_most(20, 1.0, 100), 100, ("k",)) is None
    assert too_many_touched(Mode.INCREMENTAL, 100, 1.0, 100, ("k",)) is None
    found = too_many_touched(Mode.AUTO, 7, share_at_most(7, 3.0, 100), 100, ("k", "g"))
    assert found is not None and found.code is ReasonCode.TOO_MANY_TOUCHED
    assert found.text == "the changes touch 7 values of k, g, about 21 of 100 rows of the target"


def test_an_empty_target_may_have_all_values() -> None:
    assert share_at_most(3, 1.0, 0) == 1.0


@pytest.mark.parametrize(
    ("at_most", "found", "changed", "share"),
    [
        (1.0, 0.0, MB, 0.001),
        (1.0, 0.02, MB, 0.02),
        (1.0, 0.0, 300 * MB, 0.3),
        (0.1, 0.0, 300 * MB, 0.1),
        (1.0, 0.0, 2 * GB, 1.0),
        (0.4, 0.1, None, 0.4),
    ],
)
def test_the_share_is_that_of_the_rows_of_the_target_or_of_the_inputs(
    at_most: float, found: float, changed: int | None, share: float
) -> None:
    assert share_found(at_most, found, changed, GB) == share


TIMES = st.floats(0.1, 600)


@given(
    fixed=TIMES, per_byte=st.floats(1e-9, 1e-6), full=TIMES, rest=st.floats(0, 60), before=st.integers(1, 10 * MB),
    now=st.integers(1, 10 * MB),
)  # fmt: skip
def test_the_way_that_is_taken_is_never_much_slower_where_a_refresh_takes_what_was_foreseen(
    fixed: float, per_byte: float, full: float, rest: float, before: int, now: int
) -> None:
    """Whatever was measured: the estimates decide, and what they choose is within a tenth, or a second, of the best."""
    one = changes(fixed + per_byte * before, 0.0, bytes=before, share=None)
    given = facts(Measured(incremental=(one, one), full=(whole(full),), rest=(rest,)), change_bytes=now)
    known = estimates(given)
    assert known.incremental_seconds is not None and known.full_seconds is not None
    taken = known.full_seconds if full_is_cheaper(Mode.AUTO, given) else known.incremental_seconds
    best = min(known.incremental_seconds, known.full_seconds)
    assert taken <= max(1.1 * best, best + 1.0) + 0.2
