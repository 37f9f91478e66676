"""What may be done with a run that was found, and what is to be done with it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.owner import STALE_AFTER, Beat, Liveness, OriginStatus, Owner, liveness
from airflow_refresh_provider.core.run.record import Lease, Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, Decision, Facts, Step, admit, next_step
from airflow_refresh_provider.core.run.request import OnInterrupted

FACTS = QueryFacts(tables=(), clock_spans=(), row_wise=False)

NOW = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
BY_ANN = Cancellation(by="ann", at=NOW)
OWNER = Owner(host="h", boot_id="b", pid=1, started=0.0, label="o")
DEFINITION = Definition.build(name="d", target="/t", query="SELECT * FROM x", inputs={"x": {"path": "/x"}}, keys=["k"])


def record(owner: Owner | None = OWNER, parked: datetime | None = None, **run: Any) -> Record:
    lease = Lease(generation=1, owner=owner, session="s", taken_at=NOW, parked_until=parked)
    plan = Plan(pins={}, moment=NOW, query="", facts=FACTS, staging="/s")
    found = Run(
        run_id="r",
        definition=DEFINITION,
        started_at=NOW,
        lease=lease,
        generations=(1,),
        plan=plan,
        **({"origin": "mine"} | run),
    )
    return Record(facts=FACTS, name="d", definition=DEFINITION, state=State.FINISHING, generation=1, run=found)


def run(**changes: Any) -> Run:
    found = record(**changes).run
    assert found
    return found


def facts(**changes: Any) -> Facts:
    given: dict[str, Any] = {
        "sealed": False,
        "definition_changed": False,
        "target_replaced": False,
        "unresumable_reason": None,
        "on_interrupted": OnInterrupted.RESUME,
    }
    return Facts(**(given | changes))


@pytest.mark.parametrize(
    ("found", "live", "mine", "expected"),
    [
        (Record(facts=FACTS, name="d", definition=DEFINITION), Liveness.UNOWNED, None, Admission.START),
        (
            Record(facts=FACTS, name="d", definition=DEFINITION, state=State.RESETTING),
            Liveness.UNOWNED,
            None,
            Admission.RESETTING,
        ),
        (record(), Liveness.LIVE, None, Admission.BUSY),
        (record(), Liveness.LIVE, "other", Admission.BUSY),
        (record(), Liveness.LIVE, "mine", Admission.TAKE_OVER),
        (record(), Liveness.ORPHANED, None, Admission.BUSY),
        (record(), Liveness.ORPHANED, "mine", Admission.TAKE_OVER),
        (record(), Liveness.ORIGIN_FINISHED, None, Admission.TAKE_OVER),
        (record(), Liveness.STALE, None, Admission.TAKE_OVER),
        (record(None), Liveness.UNOWNED, None, Admission.TAKE_OVER),
        (record(None, NOW + HOUR), Liveness.UNOWNED, None, Admission.BUSY),
        (record(None, NOW + HOUR), Liveness.UNOWNED, "other", Admission.BUSY),
        (record(None, NOW + HOUR), Liveness.LIVE, None, Admission.BUSY),
        (record(None, NOW + HOUR), Liveness.ORIGIN_FINISHED, None, Admission.TAKE_OVER),
        (record(None, NOW + HOUR), Liveness.UNOWNED, "mine", Admission.ATTACH),
        (record(None, NOW + HOUR), Liveness.LIVE, "mine", Admission.ATTACH),
        (record(None, NOW - HOUR), Liveness.UNOWNED, None, Admission.TAKE_OVER),
        (record(None, NOW - HOUR), Liveness.LIVE, None, Admission.BUSY),
        (record(None, NOW - HOUR), Liveness.UNOWNED, "mine", Admission.TAKE_OVER),
    ],
)
def test_admission_by_record_liveness_and_origin(
    found: Record, live: Liveness, mine: str | None, expected: Admission
) -> None:
    assert admit(found, live, NOW, mine) is expected


def test_a_released_run_is_never_attached_to_for_its_last_statement_may_still_come() -> None:
    assert admit(record(None), Liveness.UNOWNED, NOW, "mine") is Admission.TAKE_OVER


EVERYTHING = {
    "sealed": True,
    "target_replaced": True,
    "definition_changed": True,
    "on_interrupted": OnInterrupted.RESTART,
    "unresumable_reason": "x: gone",
    "cancelled": BY_ANN.model_copy(update={"abandon": True}),
}


def test_facts_outrank_each_other_in_a_fixed_order() -> None:
    assert next_step(run(published=True), facts(**EVERYTHING)).step is Step.CLEAN_UP
    assert next_step(run(), facts(**EVERYTHING)).step is Step.PUBLISH
    left = dict(EVERYTHING, sealed=False)
    reasons = []
    for name, neutral in (
        ("target_replaced", False),
        ("definition_changed", False),
        ("cancelled", None),
        ("on_interrupted", OnInterrupted.RESUME),
        ("unresumable_reason", None),
    ):
        decision = next_step(run(), facts(**left))
        assert decision.step is Step.ABANDON
        reasons.append(decision.reason)
        left[name] = neutral
    assert len(set(reasons)) == 5
    assert "x: gone" in reasons[-1]
    assert next_step(run(), facts(**left)).step is Step.RESUME


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({}, "its owner has ended, or stopped sending heartbeats, before its chunks were planned"),
        ({"released": True}, "it was stopped before its chunks were planned"),
        ({"released": True, "chunks": (7, 22)}, "it was stopped after 7 of 22 chunks"),
        ({"cancelled": BY_ANN, "released": True, "chunks": (7, 22)}, "it was cancelled by ann after 7 of 22 chunks"),
        ({"released": True, "failed": True, "chunks": (0, 1)}, "it failed after 0 of 1 chunk"),
    ],
)
def test_a_resumed_run_says_how_it_was_interrupted_and_where(found: dict[str, Any], reason: str) -> None:
    assert next_step(run(), facts(**found)) == Decision(step=Step.RESUME, reason=reason)


@pytest.mark.parametrize(
    ("ago", "alive", "expected"),
    [
        (timedelta(0), True, Liveness.LIVE),
        (timedelta(0), None, Liveness.LIVE),
        (timedelta(0), False, Liveness.STALE),
        (STALE_AFTER, True, Liveness.LIVE),
        (STALE_AFTER * 2, True, Liveness.STALE),
        (STALE_AFTER * 2, None, Liveness.STALE),
    ],
)
def test_a_lease_is_stale_without_beats_or_at_once_without_its_process(
    ago: timedelta, alive: bool | None, expected: Liveness
) -> None:
    beats = (Beat(generation=1, at=NOW - HOUR), Beat(generation=1, at=NOW - ago))
    assert liveness(NOW, (OWNER,), NOW - HOUR, beats, alive) is expected


@pytest.mark.parametrize(
    ("origin_status", "owners", "expected"),
    [
        (OriginStatus.FINISHED, (OWNER,), Liveness.ORIGIN_FINISHED),
        (OriginStatus.FINISHED, (), Liveness.ORIGIN_FINISHED),
        (OriginStatus.DELETED, (OWNER,), Liveness.ORPHANED),
        (OriginStatus.DELETED, (), Liveness.ORIGIN_FINISHED),
    ],
)
def test_the_origin_decides_whether_tasks_follow_the_owners_of_a_run(
    origin_status: OriginStatus, owners: tuple[Owner, ...], expected: Liveness
) -> None:
    assert liveness(NOW, owners, NOW, (), None, origin_status) is expected


def test_a_run_without_owners_is_unowned_whatever_its_beats() -> None:
    assert liveness(NOW, (), NOW, (Beat(generation=1, at=NOW),), None) is Liveness.UNOWNED
