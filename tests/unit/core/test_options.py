"""Every field of a request is an option, unless its scope says otherwise."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.options import (
    RequestOption,
    Scope,
    application_options,
    from_values,
    to_arguments,
    user_options,
)
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.errors import Invalid

CHOSEN: dict[str, Any] = {
    "mode": "full",
    "on_interrupted": "restart",
    "if_running": "skip",
    "priority": 70,
    "take_over": True,
    "only_run": "a-run",
    "force": True,
    "strict": True,
    "workers": 3,
    "until": "06:00",
    "budget_seconds": 3600,
    "budget_bytes": "200 GB",
    "no_budget": True,
    "compare_only": True,
}
"""A value of each option that is not its default."""


class Longer(RunRequest):
    """A request with two more options."""

    cautious: Annotated[bool, Field(description="check twice")] = False
    tag: Annotated[str | None, Scope.APPLICATION, Field(description="a label")] = None


def test_every_field_is_an_option_unless_its_scope_says_otherwise() -> None:
    assert {o.name for o in user_options(RunRequest)} == CHOSEN.keys()
    assert {o.name for o in application_options(RunRequest)} == CHOSEN.keys() | {"origin", "scheduled"}
    assert all(o.description for o in application_options(RunRequest))


def test_a_new_field_is_an_option_without_another_edit() -> None:
    added = RequestOption("cautious", "check twice", bool, False)
    assert [o for o in user_options(Longer) if o not in user_options(RunRequest)] == [added]
    assert to_arguments(Longer(cautious=True, tag="x y")) == ["--cautious", "--tag", "x y"]


def test_choices_and_defaults_are_those_of_the_model() -> None:
    options = {o.name: o for o in user_options(RunRequest)}
    assert options["mode"].choices == ("as_defined", "full", "incremental", "auto")
    assert [o.default for o in options.values()] == [
        *("as_defined", "resume", "refuse", 50, False, None, False, False, 2),
        *(None, None, None, False),
        False,
    ]
    assert from_values(RunRequest, {o.name: o.default for o in options.values()}) == RunRequest()


def test_only_what_differs_from_the_defaults_becomes_an_argument() -> None:
    assert to_arguments(RunRequest(pins={})) == []
    assert to_arguments(RunRequest(mode=Mode.FULL, force=True)) == ["--mode", "full", "--force"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"until": "6:00"}, "until: must be a time of day from 00:00 to 23:59, such as 06:00"),
        ({"budget_bytes": "much"}, "budget_bytes: must be an amount of bytes such as 200 GB or 1.5 TiB, or a number"),
        ({"budget_bytes": "0 B"}, "budget_bytes: must be more than nothing"),
        ({"budget_seconds": 0, "workers": 0}, "workers: .*; budget_seconds: "),
        ({"priority": 101}, "priority: .* less than or equal to 100"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said) as error:
        from_values(RunRequest, wrong)
    assert error.value.code == "bad_parameter"


def test_values_that_are_no_options_are_ignored() -> None:
    assert from_values(RunRequest, {**CHOSEN, "pins": 1, "name": "a"}) == RunRequest(**CHOSEN)
