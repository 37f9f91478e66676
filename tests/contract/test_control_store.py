"""What every control store promises, in memory and on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.control import ControlStore
from tests.contract.samples import REGISTER, event_row, moment, progress_row, record

Doors = Callable[[], ControlStore]


def test_a_root_exists_once_something_was_put_there(doors: Doors) -> None:
    assert not doors().exists
    doors().commit(doors().read("orders"), record("orders", 1), REGISTER, moment(0))
    assert doors().exists


def test_an_unknown_name_has_no_record(store: ControlStore) -> None:
    assert store.read("orders").record is None
    assert store.records() == []
    assert store.progress("orders", "run") == []
    assert store.progress_of(["run"]) == {}
    assert store.events("orders") == []
    assert store.beats("orders", "run") == ()


@pytest.mark.parametrize("text", ["\udcff", "no'name", "a" * 300, "a\x00", ""], ids=ascii)
def test_what_can_be_no_name_has_no_record(doors: Doors, text: str) -> None:
    doors().commit(doors().read("orders"), record("orders"), REGISTER, moment(0))
    assert doors().read(text).record is None


def test_a_record_is_read_back_as_it_was_written(doors: Doors) -> None:
    written = record("gold.orders", 7)
    doors().commit(doors().read("gold.orders"), written, REGISTER, moment(0))
    assert doors().read("gold.orders").record == written


def test_the_view_that_a_commit_returns_can_be_written_through(store: ControlStore) -> None:
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    assert view.record == record("orders", 1)
    store.commit(view, record("orders", 2), Event.START, moment(1))
    assert store.read("orders").record == record("orders", 2)


def test_of_two_writers_with_the_same_view_only_the_first_wins(doors: Doors) -> None:
    first, second = doors().read("orders"), doors().read("orders")
    doors().commit(first, record("orders", 1), REGISTER, moment(0))
    with pytest.raises(StaleSnapshot):
        doors().commit(second, record("orders", 2), REGISTER, moment(0))
    assert doors().read("orders").record == record("orders", 1)


def test_a_view_is_used_up_by_its_commit(store: ControlStore) -> None:
    view = store.read("orders")
    store.commit(view, record("orders", 1), REGISTER, moment(0))
    with pytest.raises(StaleSnapshot):
        store.commit(view, record("orders", 1), REGISTER, moment(0))


def test_a_view_stays_stale_after_other_definitions_were_written(doors: Doors) -> None:
    stale = doors().read("orders")
    doors().commit(doors().read("orders"), record("orders", 1), REGISTER, moment(0))
    for other in ("customers", "parts"):
        doors().commit(doors().read(other), record(other, 1), REGISTER, moment(0))
    with pytest.raises(StaleSnapshot):
        doors().commit(stale, record("orders", 2), REGISTER, moment(1))


def test_writers_of_other_definitions_do_not_make_a_view_stale(doors: Doors) -> None:
    view = doors().read("orders")
    for other in ("order", "orders.eu", "orders_eu"):
        doors().commit(doors().read(other), record(other, 1), REGISTER, moment(0))
    doors().commit(view, record("orders", 1), REGISTER, moment(1))
    assert doors().read("orders").record == record("orders", 1)


def test_threads_that_race_for_one_definition_each_win_once(doors: Doors) -> None:
    wins: list[int] = []

    def work(worker: int) -> None:
        mine = doors()
        while True:
            view = mine.read("orders")
            generation = view.record.generation if view.record else 0
            try:
                mine.commit(view, record("orders", generation + 1), REGISTER, moment(generation))
            except StaleSnapshot:
                continue
            wins.append(worker)
            return

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wins) == list(range(5))
    final = doors().read("orders").record
    assert final is not None and final.generation == 5


def test_records_lists_the_newest_of_each_by_name_without_dropped_ones(doors: Doors) -> None:
    for name in ("zebra", "apple", "gone"):
        view = doors().commit(doors().read(name), record(name, 1), REGISTER, moment(0))
        doors().commit(view, record(name, 2, dropped=name == "gone"), REGISTER, moment(1))
    assert doors().records() == [record("apple", 2), record("zebra", 2)]
    assert doors().read("gone").record == record("gone", 2, dropped=True)


def test_progress_rows_of_a_run_come_back_oldest_first(doors: Doors) -> None:
    doors().add_progress([progress_row("orders", "r1", v, 1, 0, inserted=5, main_position=-(1 << 63)) for v in (3, 1)])
    doors().add_progress([progress_row("orders", "r1", 3, 2, 1, commit_version=9)])
    doors().add_progress([progress_row("orders", "r2", 3, 9, 9), progress_row("other", "r1", 3, 9, 9)])
    doors().add_progress([])
    found = doors().progress("orders", "r1")
    assert found[-1] == progress_row("orders", "r1", 3, 2, 1, commit_version=9)
    assert sorted(found[:-1], key=lambda row: row.vnode) == [
        progress_row("orders", "r1", v, 1, 0, inserted=5, main_position=-(1 << 63)) for v in (1, 3)
    ]


def test_progress_rows_of_several_runs_come_by_run(doors: Doors) -> None:
    rows = [progress_row("orders", "r1", 3, 2, 1), progress_row("orders", "r1", 3, 1, 0)]
    doors().add_progress([*rows, progress_row("it's", "r'2", 1, 1), progress_row("other", "r3", 1, 1)])
    found = doors().progress_of(["r1", "r'2", "r4"])
    assert found == {"r1": [rows[1], rows[0]], "r'2": [progress_row("it's", "r'2", 1, 1)]}
    assert doors().progress_of([]) == {}


def test_of_progress_rows_of_one_moment_the_higher_chunk_comes_last(store: ControlStore) -> None:
    store.add_progress([progress_row("orders", "r1", 1, 2), progress_row("orders", "r1", 1, 1)])
    assert [row.chunk for row in store.progress("orders", "r1")] == [1, 2]


def test_events_come_back_oldest_first(doors: Doors) -> None:
    later = event_row("orders", "end", 5, run_id="r1", detail='{"it": "\'s"}')
    earlier = event_row("orders", "start", 1)
    for row in (later, event_row("other", "start", 2), earlier):
        doors().add_event(row)
    assert doors().events("orders") == [earlier, later]


def test_of_each_kind_of_event_the_newest_come_back_oldest_first_and_without_figures(doors: Doors) -> None:
    for second in (4, 2, 1, 3):
        doors().add_event(event_row("it's", "run_ended", second, run_id=f"r{second}", mode="full", worked_ms=7))
    doors().add_event(event_row("it's", "query_changed", 0, detail="before"))
    doors().add_event(event_row("other", "run_ended", 9))
    found = doors().newest_events("it's", 2)
    assert [(row.event, row.run_id) for row in found] == [
        ("query_changed", None),
        ("run_ended", "r3"),
        ("run_ended", "r4"),
    ]
    assert found[0] == event_row("it's", "query_changed", 0, detail="before")
    assert found[1] == event_row("it's", "run_ended", 3, run_id="r3")
    assert doors().newest_events("nothing", 2) == []


def test_the_events_of_a_run_are_no_others(doors: Doors) -> None:
    for name, run_id, second in (("orders", "r'1", 2), ("orders", "r'1", 1), ("orders", "r2", 0), ("other", "r'1", 0)):
        doors().add_event(event_row(name, "run_ended", second, run_id=run_id, mode="full"))
    found = doors().events_of_run("orders", "r'1")
    assert found == [event_row("orders", "run_ended", second, run_id="r'1", mode="full") for second in (1, 2)]


def test_a_beat_overwrites_the_last_of_the_same_unit(doors: Doors) -> None:
    doors().commit(doors().read("orders"), record("orders"), REGISTER, moment(0))
    for second in (1, 2):
        doors().beat("orders", "r1", None, Beat(generation=1, at=moment(second)))
    doors().beat("orders", "r1", 0, Beat(generation=2, at=moment(3)))
    doors().beat("orders", "r2", None, Beat(generation=9, at=moment(9)))
    found = sorted(doors().beats("orders", "r1"), key=lambda b: b.generation)
    assert found == [Beat(generation=1, at=moment(2)), Beat(generation=2, at=moment(3))]


def test_beats_are_cleared_by_run(doors: Doors) -> None:
    doors().commit(doors().read("orders"), record("orders"), REGISTER, moment(0))
    for run_id in ("r1", "r2"):
        doors().beat("orders", run_id, None, Beat(generation=1, at=moment(0)))
    doors().clear_beats("orders", "r1")
    doors().clear_beats("orders", "never was")
    assert doors().beats("orders", "r1") == ()
    assert len(doors().beats("orders", "r2")) == 1


def test_compacting_changes_nothing_that_can_be_read(doors: Doors) -> None:
    view = doors().read("orders")
    for generation in range(1, 6):
        view = doors().commit(view, record("orders", generation), REGISTER, moment(generation))
        doors().add_progress([progress_row("orders", "r1", generation, generation)])
        doors().add_event(event_row("orders", f"event {generation}", generation))
    before = (doors().records(), doors().progress("orders", "r1"), doors().events("orders"))
    doors().compact()
    assert (doors().records(), doors().progress("orders", "r1"), doors().events("orders")) == before
    doors().commit(view, record("orders", 6), REGISTER, moment(6))
    with pytest.raises(StaleSnapshot):
        doors().commit(view, record("orders", 7), REGISTER, moment(7))


def test_every_store_has_the_same_control_id(doors: Doors) -> None:
    assert doors().control_id == doors().control_id != ""
