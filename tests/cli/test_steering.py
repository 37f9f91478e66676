"""Budget and throttle at the command line, on tables in memory."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.run.results import Outcome, RunResult
from tests.cli.conftest import DEFINITION, Program, World

CHUNKED = DEFINITION + "visibility: live\nchunking: {{one_commit_up_to: 1, chunk_rows: 1}}\n"


@pytest.fixture
def changed(world: World, here: Program) -> World:
    """A refreshed target, all of whose rows have changed since."""
    here("register", world.write(text=CHUNKED))
    assert here("run", "people_copy").code == 0
    world.lake.rewrite(world.people, lambda row: row | {"name": "Grace"})
    return world


@pytest.mark.usefixtures("changed")
def test_a_budget_stops_a_run_and_the_next_one_continues_it(here: Program) -> None:
    ended = here("run", "people_copy", "--budget-bytes", "1 B", "--output", "json")
    result = RunResult.model_validate(ended.json)
    assert (ended.code, result.outcome, result.chunks.done) == (0, Outcome.BUDGET_SPENT, 1)
    shown = here("show", "people_copy").out
    assert "stopped: budget spent, 1 of 2 chunks" in shown and "; the next run continues" in shown
    assert "stopped: budget spent" in here("list").out
    assert "; the next run continues" in here("progress", "people_copy").out
    assert RunResult.model_validate(here("run", "people_copy", "--output", "json").json).outcome is Outcome.SUCCEEDED


@pytest.mark.usefixtures("changed")
def test_several_definitions_say_which_one_has_stopped(here: Program) -> None:
    ended = here("run", "--all", "--budget-bytes", "1 B", "--output", "json")
    assert (ended.code, ended.json["outcome"]) == (0, "budget_spent")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--until", "6:00"), "until: must be a time of day from 00:00 to 23:59, such as 06:00 [bad_parameter]"),
        (("--budget-bytes", "much"), "budget_bytes: must be an amount of bytes such as 200 GB"),
        (("--budget-seconds", "0"), "'0' is not a whole number of one or more"),
    ],
)
@pytest.mark.usefixtures("registered")
def test_a_budget_that_is_none_is_a_usage_error(here: Program, words: tuple[str, ...], said: str) -> None:
    ended = here("run", "people_copy", *words)
    assert ended.code == 2 and said in ended.err


def test_a_throttle_is_set_taken_off_and_left_to_the_definition(world: World, here: Program) -> None:
    here("register", world.write(text=DEFINITION + "throttle: 9\n"))
    for words, expected in ((("50,000",), 50_000), (("--off",), None), (("--as-defined",), 9)):
        ended = here("throttle", "people_copy", *words, "--output", "json")
        assert (ended.code, DefinitionStatus.model_validate(ended.json).throttle) == (0, expected)
    assert "9 rows/s" in here("throttle", "people_copy", "--as-defined").out


@pytest.mark.parametrize(
    "words", [(), ("5", "--off"), ("--off", "--as-defined"), ("0",), ("fast",), ("1.5",), ("9" * 14,)]
)
@pytest.mark.usefixtures("registered")
def test_a_throttle_that_is_none_changes_nothing(here: Program, words: tuple[str, ...]) -> None:
    ended = here("throttle", "people_copy", *words)
    assert ended.code == 2 and "[usage]" in ended.err
    assert here("show", "people_copy", "--output", "json").json["throttle"] is None


@pytest.mark.usefixtures("registered")
def test_a_throttle_of_an_unknown_definition_says_so(here: Program) -> None:
    ended = here("throttle", "people", "5")
    assert ended.code == 2 and "[unknown_name]" in ended.err
