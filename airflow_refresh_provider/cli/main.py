"""The program `airflow-refresh`: argparse built from the table of commands.

The functions of commands are imported when they are called: `--help` needs neither Airflow, Spark nor Delta.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NoReturn

from airflow_refresh_provider import __version__
from airflow_refresh_provider.cli.call import Composition, composed
from airflow_refresh_provider.cli.command import Command, Kind
from airflow_refresh_provider.cli.table import (
    COMMANDS,
    GLOBAL_OPTIONS,
    GROUPS,
    PROGRAM,
    SUMMARY,
)
from airflow_refresh_provider.errors import Invalid

_NEW_OBJECTS = 100_000
"""How many there are before Python looks for garbage: importing pyspark makes many, and all of them stay."""


def program() -> NoReturn:
    """The process of the program: one command, then its exit code."""
    gc.set_threshold(_NEW_OBJECTS)
    _keep_standard_streams()
    try:
        code = main()
    except KeyboardInterrupt:  # before the handlers were installed, or after they were removed
        from airflow_refresh_provider.cli.output import report
        from airflow_refresh_provider.cli.signals import stopped

        code = report(stopped(signal.SIGINT), as_json=_asks_for_json(sys.argv[1:]))
    from airflow_refresh_provider.cli.signals import end

    end(code)


def _keep_standard_streams() -> None:
    """Open closed standard streams: a file opened later would get their number, and what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - open until the process ends


def main(
    argv: Sequence[str] | None = None,
    composition: Composition = composed,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Run one command and return its exit code."""
    words = _global_options_last(sys.argv[1:] if argv is None else argv)
    try:
        given = vars(build_parser().parse_args(words))
    except SystemExit as end:  # only --help and --version end so
        return int(end.code or 0)
    except Invalid as error:
        from airflow_refresh_provider.cli.output import report

        return report(error, as_json=_asks_for_json(words))
    from airflow_refresh_provider.cli.perform import perform

    command: Command = given.pop("command")
    return perform(command, composition=composition, environment=environment, **given)


def _global_options_last(given: Sequence[str]) -> list[str]:
    """The words with global options that stand before the command behind it, where argparse knows them.

    One that is given again after the command counts there.
    """
    flags = {option.name: option.kind is Kind.FLAG for option in GLOBAL_OPTIONS}
    rest = list(given)
    moved: list[list[str]] = []
    while rest and rest[0].partition("=")[0] in flags:
        alone = "=" in rest[0] or flags[rest[0]]
        moved.append(rest[: 1 if alone else 2])
        rest = rest[1 if alone else 2 :]
    later = {word.partition("=")[0] for word in rest}
    return [*rest, *(word for words in moved if words[0].partition("=")[0] not in later for word in words)]


class _Parser(argparse.ArgumentParser):
    """argparse whose usage errors are those of this package."""

    def error(self, message: str) -> NoReturn:
        raise Invalid("usage", message, next=f"See `{self.prog} --help`.")

    def print_help(self, file: object = None) -> NoReturn:
        """Print help as a result; the exit code is 1 if it cannot be written."""
        from airflow_refresh_provider.cli.output import write

        raise SystemExit(write(self.format_help().rstrip("\n")))


def build_parser() -> argparse.ArgumentParser:
    """A parser whose result has the options of the command by parameter name, and `command` itself."""
    parser = _Parser(prog=PROGRAM, description=SUMMARY, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}", help="show the version")
    first = parser.add_subparsers(metavar="COMMAND", required=True)
    groups = {
        word: first.add_parser(word, help=text, description=text).add_subparsers(metavar="COMMAND", required=True)
        for word, text in GROUPS.items()
    }
    for command in COMMANDS:
        level = first if len(command.words) == 1 else groups[command.words[0]]
        leaf = level.add_parser(
            command.words[-1], help=command.help, description=_sentence(command.help), allow_abbrev=False
        )
        for option in (*command.options, *GLOBAL_OPTIONS):
            name, keywords = option.for_argparse()
            leaf.add_argument(name, **keywords)
        leaf.set_defaults(command=command)
    _complete(parser)
    return parser


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end; nothing happens when none does."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether `--output json` was among arguments that could not be parsed as a whole."""
    return "--output=json" in words or ("--output", "json") in pairwise(words)


if __name__ == "__main__":
    program()
