"""Commands for several definitions, on tables in memory: by name, pattern, tag or all; the worst exit code counts."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.reports import DueReport, Freshness
from airflow_refresh_provider.core.run.results import RefreshesResult
from tests.cli.conftest import DEFINITION, Program, World

TAGGED = DEFINITION + "tags: [nightly]\n"
SCHEDULED = DEFINITION + "refresh: {{on_change: true}}\n"
READS_LOST = DEFINITION.replace("silver/people", "silver/lost")


@pytest.fixture
def several(world: World, here: Program) -> World:
    """Three definitions: one by hand, one with a tag, one that follows its input."""
    files = [world.write("plain"), world.write("tagged", TAGGED), world.write("scheduled", SCHEDULED)]
    assert here("register", *files).code == 0
    return world


def outcomes(found: RefreshesResult) -> dict[str, str]:
    return {step.name: step.outcome.value for step in found.refreshes}


@pytest.mark.usefixtures("several")
def test_all_have_a_line_each(here: Program) -> None:
    ended = here("run", "--all", "--workers", "4")
    assert ended.code == 0
    assert [line.split()[:2] for line in ended.out.splitlines()[1:]] == [
        ["plain", "succeeded"],
        ["scheduled", "succeeded"],
        ["tagged", "succeeded"],
    ]
    assert "tagged: succeeded in 0.0 s" in ended.err
    assert "refresh: 3 definitions" in ended.err.splitlines()
    again = RefreshesResult.model_validate(here("run", "--all", "--output", "json").json)
    assert (again.outcome, set(outcomes(again).values())) == ("nothing_to_do", {"nothing_to_do"})


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--tag", "nightly"), ["tagged"]),
        (("*d", "plain"), ["plain", "scheduled", "tagged"]),
        (("*d", "--tag", "nightly"), ["tagged"]),
        (("--all", "--due"), ["plain", "scheduled", "tagged"]),
    ],
)
def test_names_patterns_and_tags_select(words: tuple[str, ...], names: list[str], here: Program) -> None:
    found = RefreshesResult.model_validate(here("run", *words, "--output", "json").json)
    assert list(outcomes(found)) == names


@pytest.mark.usefixtures("several")
def test_due_and_freshness_of_several_have_a_line_each_and_one_code(here: Program) -> None:
    reports = [DueReport.model_validate(found) for found in here("due", "--all", "--output", "json").json]
    assert {report.name: report.due for report in reports} == {"plain": False, "scheduled": True, "tagged": False}
    assert (here("due", "--all").code, here("due", "plain", "tagged").code) == (0, 4)
    found = [Freshness.model_validate(one) for one in here("freshness", "--tag", "nightly", "--output", "json").json]
    assert [one.name for one in found] == ["tagged"]
    here("run", "--all")
    assert {line.split()[0] for line in here("history", "--all").out.splitlines()[1:]} == {
        "plain",
        "scheduled",
        "tagged",
    }


def test_the_worst_error_decides_the_code_and_stands_below_the_table(several: World, here: Program) -> None:
    several.lake.create(str(several.folder / "silver" / "lost"), several.lake.table(several.people).newest.columns, ())
    assert here("register", several.write("broken", READS_LOST)).code == 0
    several.lake.remove(str(several.folder / "silver" / "lost"))
    ended = here("run", "--all")
    assert ended.code == 1
    assert "broken: " in ended.out.splitlines()[-1] and "[input_missing]" in ended.out.splitlines()[-1]
    assert ended.out.count("/silver/lost") == 1, "the table says where to look"
    assert outcomes(RefreshesResult.model_validate(here("run", "--all", "--output", "json").json)) == {
        "broken": "failed",
        "plain": "nothing_to_do",
        "scheduled": "nothing_to_do",
        "tagged": "nothing_to_do",
    }


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run",), "usage"),
        (("run", "plain", "--all"), "usage"),
        (("run", "absent", "plain"), "unknown_name"),
        (("run", "--tag", "weekly"), "unknown_name"),
        (("due",), "usage"),
        (("run", "--all", "--compare-only"), "usage"),
    ],
)
def test_what_selects_nothing_is_refused(words: tuple[str, ...], code: str, here: Program) -> None:
    ended = here(*words, "--output", "json")
    assert (ended.code, ended.json["error"]["code"]) == (2, code)


def test_a_tag_that_nothing_has_is_refused_with_the_control_root(world: World, here: Program) -> None:
    here("register", world.write())
    root = here("run", "absent", "--output", "json").json["error"]["message"].rpartition(" in ")[2]
    assert here("run", "--tag", "weekly", "--output", "json").json["error"]["message"].endswith(f" in {root}")


def test_validate_lists_what_is_selected(world: World, here: Program) -> None:
    files = [world.write("plain"), world.write("tagged", TAGGED)]
    assert [one["name"] for one in here("validate", *files, "--tag", "nightly", "--output", "json").json] == ["tagged"]
    assert [one["name"] for one in here("validate", *files, "--name", "pl*", "--output", "json").json] == ["plain"]
