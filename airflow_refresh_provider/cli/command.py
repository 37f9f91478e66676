"""What a command of the command line is: its words, its options, and how they become arguments of argparse."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_refresh_provider.core.run.options import RequestOption, user_options
from airflow_refresh_provider.core.run.request import Request


class Kind(StrEnum):
    """What an option takes."""

    TEXT = "text"
    COUNT = "count"  # a whole number, one or more
    FLAG = "flag"
    LIST = "list"  # a text, may be given several times


@dataclass(frozen=True)
class Option:
    """One option (`--name`) or positional argument (`NAME`). `value` stands for the value in help texts."""

    name: str
    help: str
    kind: Kind = Kind.TEXT
    value: str | None = None
    choices: tuple[str, ...] = ()
    default: str | int | None = None
    many: bool = False
    optional: bool = False

    @classmethod
    def of(cls, option: RequestOption) -> Option:
        """An option of a request."""
        kind = Kind.FLAG if option.kind is bool else Kind.COUNT if option.kind is int else Kind.TEXT
        value = {Kind.COUNT: "N", Kind.TEXT: None if option.choices else "TEXT", Kind.FLAG: None}[kind]
        default = None if kind is Kind.FLAG else option.default
        return cls(option.flag, option.description, kind, value, option.choices, default)

    @property
    def positional(self) -> bool:
        """Given by position, not by name."""
        return not self.name.startswith("--")

    @property
    def parameter(self) -> str:
        """The name of the parameter that it becomes."""
        return self.name.lstrip("-").replace("-", "_").lower()

    def for_argparse(self) -> tuple[str, dict[str, Any]]:
        """Its name or flag, and the keywords of `add_argument`."""
        if self.kind is Kind.FLAG:
            return self.name, {"dest": self.parameter, "help": self.help, "action": "store_true"}
        if self.kind is Kind.LIST:
            repeated: dict[str, Any] = {"action": "append", "default": [], "metavar": self.value}
            return self.name, {"dest": self.parameter, "help": self.help, **repeated}
        if self.positional:
            nargs = ("*" if self.optional else "+") if self.many else "?" if self.optional else None
            return self.parameter, {"metavar": self.name, "help": self.help, "nargs": nargs}
        return self.name, {
            "dest": self.parameter,
            "help": self.help if self.default is None else f"{self.help} (default: {self.default})",
            "choices": self.choices or None,
            "default": self.default,
            "type": _count if self.kind is Kind.COUNT else str,
            "metavar": self.value,
        }


@dataclass(frozen=True)
class Command:
    """One command: `words` as typed after the program's name; `function` as "module:function".

    The function's parameters are a `Call`, the command's own options by name and, if it has one, its `request`, whose
    options are options of the command too.
    """

    words: tuple[str, ...]
    help: str
    function: str
    own_options: tuple[Option, ...] = ()
    request: type[Request] | None = None
    needs_control: bool = True

    @property
    def options(self) -> tuple[Option, ...]:
        """All options but the global ones."""
        requested = user_options(self.request) if self.request else ()
        return (*self.own_options, *map(Option.of, requested))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of one or more")
    return int(text)
