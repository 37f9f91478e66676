"""When a run in progress is expected to end before its rate is known: as the last refreshes of its mode."""

from __future__ import annotations

from functools import partial

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.durations import NEWEST, Durations, Usual, usual, with_duration
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.views.forecast_lines import end_text
from tests.contract.samples import REGISTER
from tests.unit.page.site import browser
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import NAME, World, row

BEGIN = "begin /gold/orders"


def took(*seconds: float) -> World:
    """Full refreshes with so many seconds for each of their steps, and changes that the next one has to apply."""
    world = World(row(1))
    for number, one in enumerate(seconds):
        world.become(row(1, str(number)))
        world.lake.step = partial(_pass, world, one)
        world.run()
    world.become(row(1, "last"))
    return world


def _pass(world: World, seconds: float, _step: str) -> None:
    world.ports.clock.sleep(seconds)


def started(world: World) -> DefinitionStatus:
    """The status while a run is in progress that has no rate yet."""
    with at(world.lake, BEGIN), pytest.raises(Killed):
        world.run()
    return world.refreshes.show(NAME)


def test_the_median_of_the_last_runs_of_the_mode_counts() -> None:
    world = took(1, 1000, 2, 3)
    spans = world.record.durations[Mode.FULL]
    assert len(set(spans)) == 4
    ahead = started(world).forecast
    assert ahead is not None and ahead.usual == Usual(seconds=sum(sorted(spans)[1:3]) / 2, mode=Mode.FULL, runs=4)
    text = end_text(ahead)
    assert text is not None and "median of the last 4 full runs" in text


def test_runs_of_another_mode_do_not_count() -> None:
    found = with_duration(with_duration({}, Mode.FULL, 100), Mode.INCREMENTAL, 5)
    assert usual(found, Mode.INCREMENTAL) == Usual(seconds=5, mode=Mode.INCREMENTAL, runs=1)
    assert usual({Mode.FULL: (100,)}, Mode.INCREMENTAL) is None


def test_only_the_newest_runs_count() -> None:
    found: Durations = {}
    for seconds in range(2 * NEWEST):
        found = with_duration(found, Mode.FULL, seconds)
    assert found == {Mode.FULL: (9, 8, 7, 6, 5)}


def test_a_run_that_was_resumed_does_not_count() -> None:
    world = took(1)
    started(world)
    world.die(world.ports)
    world.another()
    assert len(world.record.durations[Mode.FULL]) == 1


def test_a_record_of_an_earlier_version_says_how_long_the_last_one_took() -> None:
    world = took(7)
    snapshot = world.store.read(NAME)
    assert snapshot.record is not None and snapshot.record.last_run is not None
    took_last = snapshot.record.last_run.elapsed_seconds
    older = snapshot.record.model_copy(update={"durations": {}})
    world.store.commit(snapshot, older, REGISTER, world.ports.clock.now())
    ahead = started(world).forecast
    assert ahead is not None and ahead.usual is not None
    assert (ahead.usual.seconds, ahead.usual.runs) == (took_last, 1)
    text = end_text(ahead)
    assert text is not None and "as the last full run" in text


def test_the_page_says_what_the_end_is_expected_by() -> None:
    world = took(5, 5)
    started(world)
    assert "median of the last 2 full runs" in browser(world.refreshes).get(f"/definitions/{NAME}").text
