"""`cascade` on tables in memory: its result for each definition, and its exit code."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import RefreshesResult
from tests.cli.conftest import DEFINITION, Program, World

READS_COPY = """
name: {name}
target: gold/{name}
from: people
inputs:
  people: {{path: gold/people_copy}}
keys: [id]
"""


@pytest.fixture
def chain(world: World, here: Program) -> World:
    """people -> people_copy -> again, and one apart."""
    assert here("register", world.write()).code == 0
    assert here("run", "people_copy").code == 0
    assert here("register", world.write("again", READS_COPY), world.write("apart", DEFINITION)).code == 0
    return world


def steps(found: RefreshesResult) -> list[tuple[str, str]]:
    return [(step.name, step.outcome.value) for step in found.refreshes]


def test_each_definition_has_the_result_that_run_prints(chain: World, here: Program) -> None:
    chain.lake.append(chain.people, [{"id": 3, "name": "Grace"}])
    ended = here("cascade", "again", "--output", "json")
    found = RefreshesResult.model_validate(ended.json)
    assert (ended.code, found.outcome) == (0, "succeeded")
    assert steps(found) == [("people_copy", "succeeded"), ("again", "succeeded")]
    assert all(step.result and step.result.rows.inserted for step in found.refreshes)
    assert here("run", "again", "--output", "json").json.keys() == ended.json["refreshes"][1]["result"].keys()


@pytest.mark.usefixtures("chain")
def test_the_table_has_a_row_for_each(here: Program) -> None:
    header, *lines = here("cascade", "again", "apart").out.splitlines()
    assert header.split() == ["name", "outcome", "rows", "published", "seconds", "reason"]
    assert [line.split()[0] for line in lines] == ["apart", "people_copy", "again"]


def test_a_chain_is_registered_and_refreshed_before_any_of_its_targets_exists(world: World, here: Program) -> None:
    again = world.write("again", READS_COPY)
    assert here("register", again, world.write()).code == 0
    alone = here("run", "again", "--output", "json")
    assert (alone.code, alone.json["error"]["code"]) == (3, "input_not_published")
    assert "people_copy" in alone.json["error"]["message"]
    found = RefreshesResult.model_validate(here("cascade", "again", "--output", "json").json)
    assert steps(found) == [("people_copy", "succeeded"), ("again", "succeeded")]


def test_a_deleted_target_is_reported_missing_with_its_definition(chain: World, here: Program) -> None:
    chain.lake.remove(str(chain.folder / "gold" / "people_copy"))
    ended = here("run", "again", "--output", "json")
    error = ended.json["error"]
    assert (ended.code, error["code"]) == (3, "input_not_published")
    assert "the target of people_copy, is not there" in error["message"]


def test_an_input_that_is_no_target_must_exist(world: World, here: Program) -> None:
    ended = here("register", world.write("again", READS_COPY), "--output", "json")
    assert (ended.code, ended.json["error"]["code"]) == (2, "input_missing")


def test_a_failure_skips_those_downstream_and_says_what_to_do(chain: World, here: Program) -> None:
    chain.lake.append(chain.people, [{"id": 1, "name": "twice"}])
    ended = here("cascade", "again", "--output", "json")
    found = RefreshesResult.model_validate(ended.json)
    assert (ended.code, steps(found)) == (1, [("people_copy", "failed"), ("again", "skipped")])
    assert ended.json["refreshes"][0]["error"] == here("run", "people_copy", "--output", "json").json["error"]
    shown = here("cascade", "again")
    assert (shown.code, "[duplicate_key]" in shown.out) == (1, True)


def test_one_that_is_refused_exits_3(chain: World, here: Program) -> None:
    chain.lake.append(chain.people, [{"id": 3, "name": "Grace"}])
    here("suspend", "again")
    ended = here("cascade", "again", "--output", "json")
    assert (ended.code, ended.json["outcome"]) == (3, "refused")
    assert [step["outcome"] for step in ended.json["refreshes"]] == ["succeeded", "refused"]


@pytest.mark.usefixtures("chain")
def test_an_unknown_name_exits_2(here: Program) -> None:
    ended = here("cascade", "again", "absent", "--output", "json")
    assert (ended.code, ended.json["error"]["code"]) == (2, "unknown_name")
