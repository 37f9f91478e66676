"""`explain`: registered definitions and files, as tables and as JSON, and what `--strict` makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.cli.call import composed
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.explanation import Follows
from airflow_refresh_provider.places import CONTROL_VARIABLE, Places
from airflow_refresh_provider.ports.watch import Silent
from tests.cli.conftest import DEFINITION, Program, World
from tests.contract.tables import rows, write

COPIES = "from: people"
COUNTED = DEFINITION.replace(COPIES, "query: SELECT id, (SELECT count(*) FROM people) AS n FROM people\nmode: auto")


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


def test_a_folder_is_explained_unless_a_definition_is_called_like_it(
    world: World, here: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = world.folder / "defs"
    folder.mkdir()
    (folder / "one.yaml").write_text((world.folder / world.write("one")).read_text())
    monkeypatch.chdir(world.folder)
    assert [found["name"] for found in here("explain", "defs", "--output", "json").json] == ["one"]
    here("register", world.write("defs"))
    assert [found["name"] for found in here("explain", "defs", "--output", "json").json] == ["defs"]


def test_files_are_explained_without_a_control_root(world: World, here: Program, environment: dict[str, str]) -> None:
    file = world.write("counted", COUNTED)
    del environment[CONTROL_VARIABLE]
    ended = here("explain", file, "--output", "json")
    assert (ended.code, [found["follows"] for found in ended.json]) == (0, ["no_input"])
    assert (here("explain", "counted").code, "no control root" in here("explain", "counted").err) == (2, True)


def test_explaining_a_file_makes_no_control_root(tmp_path: Path) -> None:
    write(tmp_path / "in", rows(1, 2, 3))
    DeltaTable(tmp_path / "in").alter.set_table_properties(
        {"airflow_refresh.control": "another"}, raise_if_not_exists=False
    )
    query = "SELECT id, count(*) AS n FROM people GROUP BY id"
    given = {"name": "counted", "target": str(tmp_path / "out"), "query": query, "keys": ["id"], "mode": "incremental"}
    definition = Definition.build(**given, inputs={"people": {"path": str(tmp_path / "in")}})
    places = Places(str(tmp_path / "control"), "local", str(tmp_path / "home"))
    found = composed(places, Silent()).explain_definition(definition)
    assert (found.follows, found.error) == (Follows.EVERY_INPUT, None)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_mode_incremental_is_shown_as_refused_where_an_input_is_not_followed(world: World, here: Program) -> None:
    file = world.write("counted", COUNTED.replace("mode: auto", "mode: incremental"))
    assert "not followed, so mode incremental is refused: an aggregate of all rows" in here("explain", file).out


def test_strict_fails_unless_every_input_is_followed(world: World, here: Program) -> None:
    files = [world.write(), world.write("counted", COUNTED)]
    assert here("explain", *files).code == 0
    assert here("explain", files[0], "--strict").code == 0
    ended = here("explain", *files, "--strict")
    assert ended.code == 4
    assert "people: an aggregate of all rows (line 1, column 20)" in ended.out


def test_several_are_explained_by_pattern_and_all(world: World, here: Program) -> None:
    here("register", world.write(), world.write("counted", COUNTED))
    for words in (("--all",), ("*",), ("counted", "people_copy")):
        found = here("explain", *words, "--output", "json").json
        assert [one["name"] for one in found] == ["counted", "people_copy"]
    assert here("explain").code == 2
    assert here("explain", "absent").code == 2


GROUPED = DEFINITION.replace(
    COPIES, "query: SELECT md5(name) AS id, count(*) AS n FROM people GROUP BY name\nmode: auto"
)


def test_validate_says_what_is_followed_and_what_a_change_would_win(world: World, here: Program) -> None:
    files = [world.write(), world.write("grouped", GROUPED)]
    ended = here("validate", *files)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["name", "follows"],
        ["people_copy", "every"],
        ["grouped", "no"],
    ]
    for words in (
        "grouped: changes of people have everything computed: people without a column",
        "grouped: advice: add people.name to the SELECT and, where it is never NULL, to the keys",
        "    query: SELECT md5(name) AS id, count(*) AS n, people.name FROM people GROUP BY name",
        "    keys: [id, name]",
    ):
        assert words in ended.out
    (found,) = here("validate", files[1], "--output", "json").json
    assert [one["kind"] for one in found["explanation"]["advice"]] == ["add_column"]


def test_the_advised_file_follows_every_input(world: World, here: Program) -> None:
    ended = here("validate", world.write("grouped", GROUPED))
    yaml = "\n".join(line.removeprefix("    ") for line in ended.out.splitlines() if line.startswith("    "))
    changed = here("explain", world.write("changed", yaml), "--strict", "--output", "json")
    assert changed.code == 0
    assert [(one["follows"], one["assumed"], one["advice"]) for one in changed.json] == [("every_input", False, [])]
