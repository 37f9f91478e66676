"""What a definition's query was before: noted when another one is registered."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.query_change import QueryChange
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.runner.report.definition_details import definition_detail
from airflow_refresh_provider.runner.report.query_changes import QUERY_CHANGED, SHOWN_CHANGES
from tests.unit.runner.world import NAME, World, definition


def changes(world: World) -> tuple[QueryChange, ...]:
    return definition_detail(world.ports, NAME, {}).query_changes


def test_each_query_that_was_replaced_is_kept_with_the_one_that_replaced_it() -> None:
    world = World()
    first = definition().query_text
    second, third = (f"{first} -- {word}" for word in ("second", "third"))
    for query in (second, second, third):
        world.refreshes.register(definition(query=query))
    assert [(one.before, one.after) for one in changes(world)] == [(second, third), (first, second)]


def test_a_change_of_something_else_is_no_change_of_the_query() -> None:
    world = World()
    world.refreshes.register(definition(owner="ada"))
    assert changes(world) == ()


def test_the_last_changes_are_shown() -> None:
    world = World()
    first = definition().query_text
    for number in range(SHOWN_CHANGES + 2):
        world.refreshes.register(definition(query=f"{first} -- {number}"))
    found = changes(world)
    assert len(found) == SHOWN_CHANGES
    assert found[0].after.endswith("-- 6")


def test_a_definition_that_was_dropped_and_registered_again_is_a_new_one() -> None:
    world = World()
    first = definition().query_text
    world.refreshes.drop(NAME)
    world.refreshes.register(definition(query=f"{first} -- again"))
    assert changes(world) == ()


def test_a_change_that_a_newer_version_has_noted_is_refused() -> None:
    world = World()
    world.refreshes.register(definition(query=f"{definition().query_text} -- second"))
    (noted,) = [event for event in world.store.events(NAME) if event.event == QUERY_CHANGED]
    newer = noted.detail.replace('"format":1', '"format":2', 1)
    world.store.add_event(noted.model_copy(update={"detail": newer}))
    with pytest.raises(Invalid, match="cannot read") as caught:
        changes(world)
    assert caught.value.code == "newer_control_format"
