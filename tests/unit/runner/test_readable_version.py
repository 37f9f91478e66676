"""The version that readers are given: the newest that has exactly the published rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.ports.watch import Committed, Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.world import NAME, TARGET, World, definition, row

DAY = timedelta(days=1)
VIEW = "gold.orders"
SEVERAL = {"chunking": {"one_commit_up_to": 2, "chunk_rows": 2}, "view": VIEW}


def _world() -> World:
    world = World(*(row(i) for i in range(6)), **SEVERAL)
    world.run()
    world.become(*(row(i, "b") for i in range(6)))
    world.run()
    return world


def _viewed(world: World) -> int:
    location, version, _ = world.ports.engine.views[VIEW]  # type: ignore[attr-defined]
    assert location == TARGET
    return int(version)


def _refused_in(world: World, days: float, after: float = 0) -> datetime:
    """Let days pass; from some days later on the versions of the target that are not the newest cannot be read."""
    world.ports.clock.sleep((after * DAY).total_seconds())
    moment = world.ports.clock.now() + days * DAY
    world.lake.table(TARGET).refused_from = moment
    return moment


def test_the_seal_of_a_refresh_is_read_and_not_the_version_before_it() -> None:
    world = _world()
    published = world.record.published
    assert published is not None
    assert published.seal_version > published.version

    found = world.refreshes.published(NAME)

    assert (found.version, found.until) == (published.seal_version, None)
    assert _viewed(world) == published.seal_version
    assert world.target(found.version) == world.target(published.version)


def test_maintenance_is_passed_over_and_rows_of_others_are_not() -> None:
    world = _world()
    newest = world.refreshes.published(NAME).version
    world.lake.optimize(TARGET)
    assert world.refreshes.published(NAME).version == newest + 1
    world.lake.append(TARGET, [row(7)])
    world.lake.optimize(TARGET)

    found = world.refreshes.published(NAME)

    assert found.version == newest + 1
    assert found.until is not None
    assert row(7) not in world.target(found.version)


def test_the_chunks_of_a_refresh_in_progress_are_not_read() -> None:
    world = _world()
    before = world.refreshes.published(NAME).version
    world.become(*(row(i, "c") for i in range(6)))
    commits: list[int] = []
    asked: list[int] = []

    class Watching(Silent):
        def committed(self, chunk: Committed) -> None:
            commits.append(len(world.commits) - 1)
            asked.append(world.refreshes.published(NAME).version)

    Refreshes(replace(world.process(), watch=Watching())).run(NAME, Request(workers=1))

    assert len(commits) > 1
    assert set(asked) == {before}
    assert world.refreshes.published(NAME).version == len(world.commits) - 1


def test_a_log_that_was_cleaned_up_leaves_the_published_version() -> None:
    world = _world()
    published = world.record.published
    assert published is not None
    world.lake.table(TARGET).oldest = published.version + 2

    assert world.refreshes.published(NAME).version == published.version


def test_a_view_whose_version_is_soon_refused_is_made_again_although_no_input_has_changed() -> None:
    world = _world()
    world.refreshes.register(definition(**SEVERAL, refresh={"on_change": True}))
    before = _viewed(world)
    world.lake.optimize(TARGET)
    _refused_in(world, 1, after=6)
    assert (world.refreshes.due(NAME).due, world.refreshes.due(NAME).cause) == (True, "view_expires")

    result = world.run(Request(workers=1, strict=True))

    assert (result.outcome, result.mode_code) == ("succeeded", "nothing_changed")
    assert result.rows == Rows(unchanged=6)
    assert _viewed(world) == before + 2 == len(world.commits) - 1  # the seal that follows the OPTIMIZE
    assert world.fresh()
    assert world.refreshes.due(NAME).cause == "nothing_new"
    assert world.run().outcome == "nothing_to_do"


@pytest.mark.parametrize(
    ("after", "days", "needed"),
    [(8, -1, True), (6, 1, True), (4, 3, False), (0.4, 0.6, False), (0.6, 0.4, True)],
)
def test_a_view_is_made_again_two_days_or_half_of_the_retention_before_its_version_is_refused(
    after: float, days: float, needed: bool
) -> None:
    world = _world()
    world.lake.optimize(TARGET)
    _refused_in(world, days, after)
    assert (world.refreshes.not_needed(NAME, Request()) is None) is needed
    assert world.run().outcome == ("succeeded" if needed else "nothing_to_do")


def test_without_a_view_no_refresh_is_made_for_readers() -> None:
    world = _world()
    world.refreshes.register(definition(chunking=SEVERAL["chunking"]))
    world.lake.optimize(TARGET)
    _refused_in(world, -1)
    assert world.run().outcome == "nothing_to_do"
    assert world.refreshes.freshness(NAME)[0].readable_until is None


def test_until_when_the_last_refresh_can_be_read_is_reported() -> None:
    world = _world()
    assert world.refreshes.show(NAME).freshness.readable_until is None  # type: ignore[union-attr]
    world.lake.append(TARGET, [row(7)])
    until = _refused_in(world, 5)
    shown, found = world.refreshes.show(NAME), world.refreshes.freshness(NAME)
    assert shown.freshness is not None
    assert shown.freshness.readable_until == found[0].readable_until == until
    assert ("readable until", formats.time(until)) in table_of(shown).rows
    assert f"{NAME}: its last refresh can be read until {formats.time(until)}" in table_of([*found]).notes
    world.run()
    assert world.refreshes.freshness(NAME)[0].readable_until is None
