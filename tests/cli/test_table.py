import inspect
from collections.abc import Iterable
from importlib import import_module

import pytest

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.cli.table import COMMANDS, Command, Kind, Option
from airflow_refresh_provider.core.run.recovery import OnInterrupted
from airflow_refresh_provider.core.run.request import IfRunning, Request


def title(command: Command) -> str:
    return " ".join(command.words)


def option(words: str, name: str) -> Option:
    (command,) = [c for c in COMMANDS if title(c) == words]
    (found,) = [o for o in command.options if o.name == name]
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=title)
def test_the_function_of_a_command_takes_a_call_and_exactly_the_options_of_the_table(command: Command) -> None:
    module, _, name = command.does.partition(":")
    first, *others = inspect.signature(getattr(import_module(module), name), eval_str=True).parameters.values()
    assert first.annotation is Call
    assert [p.name for p in others] == [o.parameter for o in command.options]
    kinds = {Kind.TEXT: str, Kind.COUNT: int, Kind.FLAG: bool}
    for parameter, given in zip(others, command.options, strict=True):
        kind = kinds[given.kind]
        assert parameter.annotation == (list[str] if given.many else str | None if given.optional else kind)


@pytest.mark.parametrize(
    ("name", "values", "default"),
    [
        ("--on-interrupted", OnInterrupted, Request().on_interrupted),
        ("--if-running", IfRunning, Request().if_running),
        ("--workers", (), Request().workers),
    ],
)
def test_choices_and_defaults_of_run_are_those_of_a_request(name: str, values: Iterable[str], default: object) -> None:
    assert option("run", name).choices == tuple(values)
    assert option("run", name).default == default


def test_no_two_commands_have_the_same_words() -> None:
    assert len({title(c) for c in COMMANDS}) == len(COMMANDS)
