"""`airflow refresh ...`: the same commands below Airflow's own command line.

Airflow imports this whenever it starts, so the functions of commands are imported when they are called. Control root
and Spark that are given neither by option nor by environment are those of the connection `refresh_default`.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_refresh_provider.cli.command import Command
from airflow_refresh_provider.cli.table import COMMANDS, GLOBAL_OPTIONS, GROUPS
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import CONTROL_VARIABLE, SPARK_VARIABLE

if TYPE_CHECKING:
    import argparse

    from airflow.cli.cli_config import ActionCommand, GroupCommand

_GROUP = "refresh"
_PLACES = {"control": CONTROL_VARIABLE, "spark": SPARK_VARIABLE}


def commands() -> list[GroupCommand]:
    """The group of commands that Airflow adds to its own."""
    from airflow.cli.cli_config import GroupCommand

    below: defaultdict[str, list[ActionCommand]] = defaultdict(list)
    for command in COMMANDS:
        below[command.words[0] if len(command.words) > 1 else ""].append(_action(command))
    groups = [GroupCommand(name=word, help=text, subcommands=below[word]) for word, text in GROUPS.items()]
    return [GroupCommand(name=_GROUP, help="keep Delta tables fresh on Spark", subcommands=[*below[""], *groups])]


def _action(command: Command) -> ActionCommand:
    from airflow.cli.cli_config import ActionCommand, Arg

    named = [option.for_argparse() for option in (*command.options, *GLOBAL_OPTIONS)]
    args = [
        Arg((name,), **{k: v for k, v in given.items() if v is not None})  # type: ignore[no-untyped-call]
        for name, given in named
    ]
    return ActionCommand(name=command.words[-1], help=command.help, func=partial(_perform, command), args=args)


def _perform(command: Command, args: argparse.Namespace) -> None:
    """Run a command and end the program with its exit code."""
    from airflow_refresh_provider.cli.output import report
    from airflow_refresh_provider.cli.perform import perform
    from airflow_refresh_provider.cli.signals import end

    given = {option.parameter: getattr(args, option.parameter) for option in (*command.options, *GLOBAL_OPTIONS)}
    try:
        placed = _placed(given) if command.needs_control else given
    except RefreshError as error:
        sys.exit(report(error, as_json=given["output"] == "json"))
    end(perform(command, **placed))


def _placed(given: dict[str, Any]) -> dict[str, Any]:
    missing = [key for key, variable in _PLACES.items() if not given[key] and not os.environ.get(variable)]
    if not missing:
        return given
    from airflow_refresh_provider.hooks.stored_hook import StoredRefreshHook

    fields = StoredRefreshHook().fields()
    return given | {key: fields.get(key) for key in missing}
