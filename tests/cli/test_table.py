import inspect
from importlib import import_module
from typing import Any

import pytest

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.cli.command import Command, Kind
from airflow_refresh_provider.cli.main import build_parser
from airflow_refresh_provider.cli.table import COMMANDS
from airflow_refresh_provider.core.run.options import from_values, to_arguments
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.spark_apps import refresh as application
from tests.unit.core.test_options import CHOSEN


def title(command: Command) -> str:
    return " ".join(command.words)


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("command", COMMANDS, ids=title)
def test_the_function_of_a_command_takes_a_call_its_own_options_and_its_request(command: Command) -> None:
    module, _, name = command.function.partition(":")
    first, *others = inspect.signature(getattr(import_module(module), name), eval_str=True).parameters.values()
    assert first.annotation is Call
    if command.request is not None:
        last = others.pop()
        assert (last.name, last.annotation) == ("request", command.request)
    assert [p.name for p in others] == [o.parameter for o in command.own_options]
    kinds = {Kind.TEXT: str, Kind.COUNT: int, Kind.FLAG: bool, Kind.LIST: list[str]}
    for parameter, given in zip(others, command.own_options, strict=True):
        kind = kinds[given.kind]
        assert parameter.annotation == (list[str] if given.many else str | None if given.optional else kind)


@pytest.mark.parametrize("given", [{}, CHOSEN], ids=["defaults", "chosen"])
def test_the_options_of_run_are_those_of_its_request(given: dict[str, Any]) -> None:
    words = [word for name, value in given.items() for word in ([flag(name)] if value is True else [flag(name), value])]
    parsed = vars(build_parser().parse_args(["run", "a", *map(str, words)]))
    assert from_values(RunRequest, parsed) == RunRequest(**given)
    own = {"name", "tag", "all", "due", "queued"}
    assert {option.parameter for option in parsed["command"].options} == own | CHOSEN.keys()


@pytest.mark.parametrize("request_", [RunRequest(), RunRequest(**CHOSEN, scheduled=True, origin=" dag run")])
def test_an_application_gets_the_request_that_was_submitted(request_: RunRequest) -> None:
    words = ["name", "--control", "root", *to_arguments(request_)]
    assert from_values(RunRequest, vars(application.build_parser().parse_args(words))) == request_


def test_no_two_commands_have_the_same_words() -> None:
    assert len({title(c) for c in COMMANDS}) == len(COMMANDS)


def test_choices_are_named_as_they_are_typed() -> None:
    given = {option.name: option.choices for command in COMMANDS for option in command.options if option.choices}
    assert given and {type(choice) for choices in given.values() for choice in choices} == {str}
