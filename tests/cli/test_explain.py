"""`explain`: registered definitions and files, as tables and as JSON, and what `--strict` makes of it."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.cli.call import Composition
from tests.cli.conftest import DEFINITION, Program, World

COPIES = "from: people"
COUNTED = DEFINITION.replace(COPIES, "query: SELECT id, (SELECT count(*) FROM people) AS n FROM people\nmode: auto")


@pytest.fixture
def composition(world: World) -> Composition:
    """Every control root is the lake in memory."""
    return world.refreshes


def test_a_registered_definition_is_explained_with_its_next_refresh(world: World, here: Program) -> None:
    here("register", world.write())
    ended = here("explain", "people_copy")
    assert ended.code == 0
    for words in (
        "compares everything each time; with mode auto, every input is followed",
        "applied row by row",
        "full: it is the first refresh [first_refresh]",
    ):
        assert words in ended.out
    (found,) = here("explain", "people_copy", "--output", "json").json
    assert (found["follows"], found["next"]["code"]) == ("every_input", "first_refresh")


def test_a_file_is_explained_without_being_registered(world: World, here: Program) -> None:
    ended = here("explain", world.write(), "--output", "json")
    assert ended.code == 0
    assert [(found["name"], found["next"]) for found in ended.json] == [("people_copy", None)]
    assert here("list", "--output", "json").json == []


def test_strict_fails_unless_every_input_is_followed(world: World, here: Program) -> None:
    files = [world.write(), world.write("counted", COUNTED)]
    assert here("explain", *files).code == 0
    assert here("explain", files[0], "--strict").code == 0
    ended = here("explain", *files, "--strict")
    assert ended.code == 4
    assert "people: a subquery whose rows concern all rows around it (line 1, column 20)" in ended.out


def test_several_are_explained_by_pattern_and_all(world: World, here: Program) -> None:
    here("register", world.write(), world.write("counted", COUNTED))
    for words in (("--all",), ("*",), ("counted", "people_copy")):
        found = here("explain", *words, "--output", "json").json
        assert [one["name"] for one in found] == ["counted", "people_copy"]
    assert here("explain").code == 2
    assert here("explain", "absent").code == 2
