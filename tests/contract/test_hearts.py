"""An owner sees within seconds that it has lost its run, or its unit, and interrupts what it does."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.cancelling import cancelled
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.owner import LOOK_EVERY, Owner
from airflow_refresh_provider.core.run.record import Claim, Lease, Record, Run
from airflow_refresh_provider.host import StoredHeart, SystemClock
from airflow_refresh_provider.ports.control import ControlStore
from tests.contract.samples import FACTS, NOON, record

NAME = "orders"
OWNER = Owner(host="h", boot_id="b", pid=1, started=0.0, label="o")
LIMIT = 60.0


def held() -> Record:
    """A run that is held as a whole under generation 1, and in its unit 4 under generation 2."""
    found = record(NAME, generation=2, state=State.FINISHING)
    plan = Plan(pins={}, moment=NOON, query="", facts=FACTS, staging="/s")
    run = Run(
        run_id="r",
        definition=found.definition,
        started_at=NOON,
        lease=Lease(generation=1, owner=OWNER, session="s", taken_at=NOON),
        generations=(1, 2),
        plan=plan,
        claims={4: Claim(generation=2, owner=OWNER, session="u")},
    )
    return found.model_copy(update={"run": run})


def by_a_cancellation(found: Record) -> Record:
    assert found.run is not None
    return cancelled(found, found.run, Cancellation(by="ann", at=NOON), ("s", "u"))


def by_its_end(found: Record) -> Record:
    return found.after(Event.END, run=None)


def by_another_unit_owner(found: Record) -> Record:
    return found.with_run(Event.CLAIM, claims={4: Claim(generation=3, owner=OWNER, session="v")})


@pytest.mark.parametrize(
    ("unit", "generation", "changed"),
    [(None, 1, by_a_cancellation), (4, 2, by_a_cancellation), (None, 1, by_its_end), (4, 2, by_another_unit_owner)],
)
def test_an_owner_that_has_lost_is_interrupted_again_and_again(
    store: ControlStore, unit: int | None, generation: int, changed: Callable[[Record], Record]
) -> None:
    first = store.commit(store.read(NAME), held(), Event.REGISTER, NOON)
    seen, times = threading.Semaphore(0), []

    def interrupt() -> None:
        times.append(1)
        seen.release()

    with StoredHeart(store, SystemClock()).beating(NAME, "r", unit, generation, interrupt):
        assert not seen.acquire(timeout=1.5 * LOOK_EVERY.total_seconds())
        store.commit(first, changed(held()), Event.CANCEL, NOON)
        assert seen.acquire(timeout=LIMIT) and seen.acquire(timeout=LIMIT)


def test_the_beats_of_a_unit_and_of_its_run_say_until_when_it_waits(store: ControlStore) -> None:
    store.commit(store.read(NAME), held(), Event.REGISTER, NOON)
    heart = StoredHeart(store, SystemClock())
    heart.waits("r", 4, NOON)
    heart.waits("r", 5, NOON)
    heart.waits("r", 5, None)
    for unit, generation in ((None, 1), (4, 2), (5, 2)):
        with heart.beating(NAME, "r", unit, generation, lambda: None):
            pass
    assert {(b.generation, tuple(b.waits or ())) for b in store.beats(NAME, "r")} == {(1, (4,)), (2, (4,)), (2, ())}


def test_the_owner_of_the_whole_run_is_not_disturbed_by_another_owner_of_a_unit(store: ControlStore) -> None:
    store.commit(store.read(NAME), by_another_unit_owner(held()), Event.REGISTER, NOON)
    seen = threading.Event()
    with StoredHeart(store, SystemClock()).beating(NAME, "r", None, 1, seen.set):
        assert not seen.wait(1.5 * LOOK_EVERY.total_seconds())
    assert [beat.generation for beat in store.beats(NAME, "r")] == [1]
