"""What a run spends is added up over processes, attempts and tasks, with writes that are made anyway."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ControlStore, ProgressRow
from airflow_refresh_provider.ports.store_over import StoreOver
from airflow_refresh_provider.runner.hold.meter import Meter
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.run_details import run_detail
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_ports import MemoryClock
from tests.unit.runner.disturbed import LIVE, cut_off
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.phased import BY_VNODE, finished, loaded, merged, started
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row

ACT = 2.0
HOUR = 3600.0


class CountedEngine(MemoryEngine):
    """Its sessions are kept, so that a test knows what all of them have used."""

    def __init__(self, world: World) -> None:
        super().__init__(world.lake)
        self.act_seconds = ACT
        self.opened: list[MemorySession] = []

    def open(self, session_id: str) -> MemorySession:
        self.opened.append(super().open(session_id))
        return self.opened[-1]

    @property
    def seconds(self) -> float:
        return sum(session.seconds() for session in self.opened)


class MeteredWorld(World):
    """A world whose processes share one engine."""

    def process(self) -> Ports:
        if not hasattr(self, "engine"):
            self.engine = CountedEngine(self)
        return replace(super().process(), engine=self.engine)

    def last(self) -> HistoryEntry:
        return self.refreshes.history(NAME)[0]


def changed(**options: object) -> MeteredWorld:
    """A refreshed target whose input has changed since; what the first refresh used is not counted."""
    world = MeteredWorld(*[row(i) for i in range(9)], **options)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    world.engine.opened.clear()
    return world


def of(spent: Spent | None) -> float:
    assert spent is not None
    return spent.spark_seconds


@pytest.fixture(params=[{}, LIVE, BY_VNODE], ids=["one chunk", "chunks", "units"])
def world(request: pytest.FixtureRequest) -> MeteredWorld:
    return changed(**request.param)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_result_its_history_and_the_record_have_all_that_was_spent(world: MeteredWorld, workers: int) -> None:
    before = world.lake.table(TARGET).newest.commit.version
    result = world.run(Request(workers=workers))
    assert of(result.spent) == world.engine.seconds > 0
    commits = world.ports.log.commits(TARGET, after=before)
    assert result.spent is not None and result.spent.bytes_written == sum(c.bytes_added for c in commits) > 0
    assert world.last().spent == result.spent
    assert world.record.last_run is not None and world.record.last_run.spent == result.spent


def test_what_an_attempt_has_stored_before_it_died_is_added_to_that_of_the_next(world: MeteredWorld) -> None:
    with at(world.lake, "commit /gold"):
        assert cut_off(world)
    world.die(world.ports)
    stored = run_detail(world.ports, NAME, world.interrupted.run_id).spent
    world.engine.opened.clear()
    result = world.another()
    assert result.resumed and stored is not None and stored.spark_seconds > 0
    assert of(result.spent) == of(stored) + world.engine.seconds


def test_chunks_of_an_attempt_that_died_count_with_their_progress() -> None:
    world = changed(**LIVE)
    with at(world.lake, "commit /gold", nth=4):
        assert cut_off(world)
    world.die(world.ports)
    stored = run_detail(world.ports, NAME, world.interrupted.run_id).spent
    assert stored is not None and stored.bytes_written > 0
    assert stored.spark_seconds > world.interrupted.spent.spark_seconds
    assert stored.spark_seconds == world.engine.seconds - 2.0  # the act that was cut off
    result = world.another()
    assert result.spent is not None and result.spent.spark_seconds == world.engine.seconds - 2.0


def test_a_failed_attempt_stores_what_it_spent_when_it_releases_the_run() -> None:
    world = changed()
    with at(world.lake, "begin /gold", disconnected), pytest.raises(Retry):
        world.run()
    assert of(world.interrupted.spent) == world.engine.seconds
    assert of(world.another().spent) == world.engine.seconds


def test_time_between_attempts_is_not_worked() -> None:
    world = changed()
    with at(world.lake, "begin /gold", disconnected), pytest.raises(Retry):
        world.run()
    world.ports.clock.sleep(HOUR)
    world.lake.step = lambda _what: world.ports.clock.sleep(1)
    result = world.run()
    assert result.elapsed_seconds > HOUR > 100 > result.seconds
    assert result.spent is not None and 0 < result.spent.worked_seconds <= result.seconds


def test_tasks_of_a_dag_run_add_up_and_the_time_between_them_is_not_worked() -> None:
    world = changed(**BY_VNODE)
    world.lake.step = lambda _what: None
    started(world)
    units = loaded(world)
    for unit in units:
        merged(world, unit)
    result = finished(world)
    assert len(units) > 1
    assert of(result.spent) == world.engine.seconds
    assert result.spent is not None and result.spent.bytes_written > 0


def test_units_side_by_side_in_one_process_are_added_up() -> None:
    world = changed(**BY_VNODE)
    world.lake.step = lambda _what: world.ports.clock.sleep(1)
    result = world.run(Request(workers=2))
    assert of(result.spent) == world.engine.seconds
    assert result.spent is not None and result.spent.worked_seconds >= 1


def test_of_units_side_by_side_the_one_that_fails_counts_too() -> None:
    world = changed(**BY_VNODE)
    with at(world.lake, "begin /gold", disconnected, nth=2), pytest.raises(Retry):
        world.run(Request(workers=2))
    run = world.interrupted
    assert of(run_detail(world.ports, NAME, run.run_id).spent) == world.engine.seconds


def test_a_meter_leaves_out_the_time_in_which_others_measure_theirs() -> None:
    clock = MemoryClock()
    meter = Meter(clock)
    clock.sleep(3)
    with meter.idle():
        clock.sleep(100)
        assert meter.unstored().worked_seconds == 3
    clock.sleep(4)
    assert meter.unstored().worked_seconds == 7


def test_what_a_write_that_failed_would_have_stored_is_stored_by_the_next() -> None:
    clock = MemoryClock()
    meter = Meter(clock)
    clock.sleep(3)
    with pytest.raises(KeyError), meter.storing():
        raise KeyError
    with meter.storing() as spent:
        clock.sleep(2)
    assert (spent.worked_seconds, meter.unstored().worked_seconds) == (3, 2)


def test_a_cancelled_run_has_cost_what_was_stored_of_it() -> None:
    world = changed(**LIVE)
    with at(world.lake, "commit /gold", nth=3):
        assert cut_off(world)
    Refreshes(world.process()).cancel(NAME, by="someone")
    entry = world.last()
    assert entry.outcome is Outcome.CANCELLED
    assert entry.spent == run_detail(world.ports, NAME, str(entry.run_id)).spent
    assert entry.spent is not None and entry.spent.spark_seconds > 0 and entry.spent.bytes_written > 0


def test_an_abandoned_run_has_cost_what_was_spent_until_then() -> None:
    world = changed(max_delete_ratio=0.01)
    world.become()
    with pytest.raises(Exception, match="delete"):
        world.run()
    entry = world.last()
    assert entry.outcome is Outcome.REFUSED
    assert of(entry.spent) == world.engine.seconds


class NotingStore(StoreOver):
    """A control store that notes whose progress is read."""

    def __init__(self, store: ControlStore) -> None:
        super().__init__(store)
        self.asked: list[str] = []

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        self.asked.append(run_id)
        return super().progress(name, run_id)


def test_a_refresh_in_one_process_reads_no_progress_for_it() -> None:
    world = changed(**LIVE)
    store = NotingStore(world.ports.store)
    result = Refreshes(replace(world.ports, store=store)).run(NAME, Request(workers=1))
    assert result.chunks.done > 1 and store.asked == []


def test_parts_are_added_and_taken_away() -> None:
    one, two = Spent(spark_seconds=1), Spent(worked_seconds=2, bytes_written=5)
    assert one + two == Spent(worked_seconds=2, spark_seconds=1, bytes_written=5)
    assert (one + two).without(one) == two


def test_a_full_refresh_has_all_files_to_read_and_an_incremental_one_those_with_changes() -> None:
    world = MeteredWorld(*[row(i) for i in range(9)], mode="incremental")
    full = world.run()
    world.lake.append(INPUT, [row(10)])
    incremental = world.run()
    facts = world.ports.log.facts(INPUT)
    assert facts is not None and facts.bytes is not None
    assert (full.mode, incremental.mode) == ("full", "incremental")
    assert (full.bytes_to_read or 0) + (incremental.bytes_to_read or 0) == facts.bytes
    assert 0 < (incremental.bytes_to_read or 0) < (full.bytes_to_read or 0)
    assert [entry.bytes_to_read for entry in world.refreshes.history(NAME)] == [
        incremental.bytes_to_read,
        full.bytes_to_read,
    ]
