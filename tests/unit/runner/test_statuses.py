"""How a definition, its run and its table are: list, show, progress and history agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

import pytest

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import IfRunning, Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Invalid, RefreshError
from airflow_refresh_provider.ports.control import ProgressRow, Snapshot
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.views.result_table import row as line
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.disturbed import LIVE, once
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import INPUT, NAME, TARGET, World, row

NINE = [row(i) for i in range(9)]


def nine_chunks() -> World:
    """A target of nine rows, all of which have changed since: one chunk a row."""
    world = World(*NINE, **LIVE)
    world.run()
    world.become(*[row(i, "b") for i in range(9)])
    return world


def stopped(nth: int = 5) -> World:
    """A run whose process died before its nth chunk."""
    world = nine_chunks()
    with at(world.lake, f"begin {TARGET}", nth=nth), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    return world


def cells(world: World) -> dict[str, object]:
    return dict(line(world.refreshes.show(NAME)))


def test_the_progress_of_an_ended_run_counts_all_of_its_chunks_and_rows() -> None:
    world = nine_chunks()
    result = world.run()
    found = world.refreshes.progress(NAME)
    assert (found.stage, found.run_id, found.outcome) == (None, result.run_id, Outcome.SUCCEEDED)
    assert (found.chunks_done, found.chunks_total, found.rows_done) == (result.chunks.done, result.chunks.done, 9)
    assert found.rows_per_second is None


def test_the_progress_of_a_run_that_no_process_works_on_says_so_and_has_no_time_left() -> None:
    world = stopped()
    found = world.refreshes.progress(NAME)
    assert (found.health, found.rows_per_second, found.seconds_left) == (Health.INTERRUPTED, None, None)
    assert found.chunks_done == 4 and (found.chunks_total or 0) > 4
    shown = str(table_of(found))
    assert "interrupted" in shown and "what can be done with its run" in shown and "to stop it" not in shown
    run = world.refreshes.show(NAME).run
    assert run is not None and (run.rows_per_second, run.seconds_left) == (None, None)


def test_the_progress_of_a_paused_run_says_so() -> None:
    world = nine_chunks()
    other = Refreshes(world.process())
    world.lake.step = once(world, f"commit {TARGET}", lambda: other.pause(NAME))
    with pytest.raises(RefreshError):
        world.run()
    found = world.refreshes.progress(NAME)
    assert (found.health, found.seconds_left) == (Health.PAUSED, None)
    assert "paused" in str(table_of(found))


def test_an_abandoned_run_was_not_done_to_its_end() -> None:
    world = stopped()
    world.refreshes.abandon(NAME)
    found = world.refreshes.progress(NAME)
    assert found.outcome is Outcome.ABANDONED and found.health is None
    assert (found.chunks_done, found.chunks_total, found.percent) == (4, None, None)


def test_chunks_of_an_abandoned_run_are_not_said_to_be_of_others() -> None:
    world = stopped()
    run_id = world.interrupted.run_id
    world.refreshes.abandon(NAME)
    [fresh] = world.refreshes.freshness(NAME)
    why = fresh.overwritten_reason or ""
    assert f"changes of a run that was not published ({run_id})" in why and "others" not in why
    assert cells(world)["status"] == "target changed"
    world.lake.append(TARGET, [row(77)])
    [fresh] = world.refreshes.freshness(NAME)
    why = fresh.overwritten_reason or ""
    assert "others have written" in why and run_id in why


def test_a_definition_that_was_never_refreshed_is_not_published() -> None:
    world = World(row(1))
    assert world.refreshes.show(NAME).health is Health.NOT_PUBLISHED
    assert cells(world)["status"] == "never published"


def test_list_show_and_progress_have_the_failure_of_the_last_run_until_the_target_is_fresh_again() -> None:
    world = World(row(1), row(1, "b"))
    with pytest.raises(RefreshError) as failed:
        world.run()
    shown = world.refreshes.show(NAME)
    assert shown.health is Health.FAILED and shown.last_run is not None
    reason = failed.value.kept(redact=True)
    assert reason != failed.value.message
    assert (shown.last_run.code, shown.last_run.reason) == (failed.value.code, reason)
    assert cells(world)["status"] == f"failed: {failed.value.code}"
    assert reason in str(table_of(shown).rows)
    assert world.refreshes.progress(NAME).failure == reason
    world.become(row(1))
    world.run()
    assert world.refreshes.show(NAME).health is Health.FRESH


def test_a_run_that_cannot_start_has_failed_too_and_is_stored_once() -> None:
    world = World(row(1))
    world.run()
    table = world.lake.tables.pop(INPUT)
    stored: list[Event] = []
    commit = world.store.commit

    def counted(snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        stored.append(event)
        return commit(snapshot, record, event, at)

    world.store.commit = counted  # type: ignore[method-assign]
    for _ in range(3):
        with pytest.raises(Invalid):
            world.run()
    last = world.record.last_run
    assert last is not None and (last.code, last.run_id, last.outcome) == ("input_missing", None, Outcome.FAILED)
    assert world.record.failures == 0  # by hand
    assert stored == [Event.START_FAILED]
    unknown = world.refreshes.show(NAME)
    assert unknown.health is Health.FAILED and unknown.due is None
    assert unknown.freshness is not None and unknown.freshness.error is not None
    world.lake.tables[INPUT] = table
    assert world.run().outcome is Outcome.NOTHING_TO_DO
    assert world.refreshes.show(NAME).health is Health.FRESH


def test_a_row_of_another_writer_makes_the_target_overwritten_not_fresh() -> None:
    world = World(row(1), **LIVE)
    world.run()
    world.lake.append(TARGET, [{**row(7), "_vnode": 0, "_row_hash": 0}])
    shown = world.refreshes.show(NAME)
    assert shown.health is Health.OVERWRITTEN
    [fresh] = world.refreshes.freshness(NAME)
    assert fresh.confirmed_at is None and "others have written" in (fresh.overwritten_reason or "")
    assert "others have written" in str(line(fresh)["behind"])


def test_nothing_to_do_has_neither_a_mode_nor_the_run_of_another_refresh() -> None:
    world = World(row(1))
    world.run()
    found = world.run()
    assert (found.outcome, found.mode, found.run_id) == (Outcome.NOTHING_TO_DO, None, None)
    assert found.published_version == world.record.published.version  # type: ignore[union-attr]


def test_a_refresh_that_was_skipped_says_so() -> None:
    world = nine_chunks()
    with at(world.lake, f"begin {TARGET}", nth=2), pytest.raises(Killed):
        world.run()
    found = world.another(Request(if_running=IfRunning.SKIP))
    assert (found.outcome, found.mode, found.run_id) == (Outcome.SKIPPED, None, None)
    assert "is in progress" in (found.reason or "")


def test_an_unfinished_run_has_a_percentage_a_rate_and_the_time_that_is_left() -> None:
    world = nine_chunks()
    seconds = iter(range(0, 1000, 2))
    world.store.add_progress = _spaced(world, seconds)  # type: ignore[method-assign,assignment]
    with at(world.lake, f"begin {TARGET}", nth=7), pytest.raises(Killed):
        world.run()
    run = world.refreshes.show(NAME).run
    assert run is not None
    assert (run.chunks_done, run.chunks_total, run.percent) == (6, 8, 77.8)  # 7 of 9 rows, two of them in one chunk
    assert run.rows_per_second is not None and run.seconds_left is not None
    assert run.seconds_left == round(2 / run.rows_per_second, 1)
    found = world.refreshes.progress(NAME)
    assert (found.percent, found.rows_per_second, found.seconds_left) == (77.8, run.rows_per_second, run.seconds_left)
    assert cells(world)["status"] == f"running, 78 %, 0:00:{run.seconds_left:02.0f} left"
    world.die(world.ports)
    assert cells(world)["status"] == "interrupted, 6 of 8 chunks"


def _spaced(world: World, seconds: Iterator[int]) -> Callable[[Iterable[ProgressRow]], None]:
    """Adds progress as the store does, each time two seconds later."""
    add, began = type(world.store).add_progress, world.ports.clock.now()

    def later(rows: Iterable[ProgressRow]) -> None:
        after = timedelta(seconds=next(seconds))
        add(world.store, [one.model_copy(update={"at": began + after}) for one in rows])

    return later


def test_history_has_the_attempts_and_the_whole_time_of_a_resumed_run() -> None:
    world = stopped()
    later = world.process()
    later.clock.sleep(100)
    result = Refreshes(later).run(NAME, Request(workers=1))
    assert result.resumed and result.attempts == 2 and result.elapsed_seconds >= 100
    entry = world.refreshes.history(NAME)[0]
    assert (entry.attempts, entry.elapsed_seconds >= 100) == (2, True)
    assert result.stages["take_over"] >= 0
    assert "2, 0:01:4" in str(line(result)["attempts"])


def test_the_line_of_a_list_fits_a_hundred_characters() -> None:
    world = nine_chunks()
    world.run()
    shown = cells(world)
    assert shown["last run"] == "+0 ~9 -0 in 0:00:00"
    assert sum(len(str(value or "-")) + 2 for value in shown.values()) <= 100
    assert shown["target"] == TARGET.rpartition("/")[2]


def test_statuses_are_those_of_show() -> None:
    world = stopped()
    assert world.refreshes.statuses() == [world.refreshes.show(NAME)]
