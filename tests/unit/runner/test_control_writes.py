"""The compare-and-set on a record: decided again after each lost write, a limited number of times."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.runner.hold.control_writes import WRITE_TRIES, Change, change
from tests.unit.runner.world import NAME, World, row


def paused(record: Record | None) -> Change:
    assert record is not None
    return Change(Event.PAUSE, record.after(Event.PAUSE, paused=True))


def test_a_change_is_stored_and_returned_with_the_record_before_it() -> None:
    world = World(row(1))
    before, after = change(world.ports, NAME, paused)
    assert before is not None
    assert (before.paused, after.paused, world.record) == (False, True, after)


def test_a_record_without_an_event_is_not_stored() -> None:
    world = World(row(1))
    written = world.store.read(NAME)
    changed = change(world.ports, NAME, lambda record: Change(None, paused(record).record))
    assert changed.after.paused
    assert not world.record.paused
    world.store.commit(written, world.record, Event.PAUSE, world.ports.clock.now())  # nothing came in between


def test_a_lost_write_is_decided_again_on_the_new_record() -> None:
    world = World(row(1))
    seen: list[str | None] = []

    def overtaken(record: Record | None) -> Change:
        assert record is not None
        seen.append(record.suspended)
        if len(seen) == 1:
            world.refreshes.suspend(NAME, "meanwhile")
        return paused(record)

    change(world.ports, NAME, overtaken)
    assert seen == [None, "meanwhile"]
    assert (world.record.paused, world.record.suspended) == (True, "meanwhile")


def test_too_many_lost_writes_are_an_error() -> None:
    world = World(row(1))
    tries: list[int] = []

    def overtaken(record: Record | None) -> Change:
        tries.append(len(tries))
        world.refreshes.suspend(NAME, f"reason {len(tries)}")
        return paused(record)

    with pytest.raises(Retry) as caught:
        change(world.ports, NAME, overtaken)
    assert (caught.value.code, len(tries)) == ("control_contended", WRITE_TRIES)
    assert not world.record.paused
