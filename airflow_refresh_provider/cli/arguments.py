"""How an option of the table becomes an argument of argparse, whichever parser it is added to."""

from __future__ import annotations

import argparse
from typing import Any

from airflow_refresh_provider.cli.table import Kind, Option


def argument(option: Option) -> tuple[str, dict[str, Any]]:
    """The name or flag, and the keywords of `add_argument`."""
    if option.kind is Kind.FLAG:
        return option.name, {"dest": option.parameter, "help": option.help, "action": "store_true"}
    if option.positional:
        nargs = "+" if option.many else "?" if option.optional else None
        return option.parameter, {"metavar": option.name, "help": option.help, "nargs": nargs}
    return option.name, {
        "dest": option.parameter,
        "help": option.help if option.default is None else f"{option.help} (default: {option.default})",
        "choices": option.choices or None,
        "default": option.default,
        "type": _count if option.kind is Kind.COUNT else str,
        "metavar": option.value,
    }


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of one or more")
    return int(text)
