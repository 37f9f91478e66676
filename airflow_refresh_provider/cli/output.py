"""Printing: one result on stdout, as a table or as exactly one JSON value; errors in three parts.

As JSON an error is the result and goes to stdout; for people it goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from airflow_refresh_provider.errors import Explained

if TYPE_CHECKING:
    from airflow_refresh_provider.core.stored import Stored

    Answer = Stored | list[Stored]


def show(answer: Answer, *, as_json: bool) -> int:
    """Print a command's result; the exit code says whether anybody took it."""
    if as_json:
        return _write(_json(answer))
    from airflow_refresh_provider.cli.drawing import draw
    from airflow_refresh_provider.cli.sheets import sheet

    return _write(draw(sheet(answer), sys.stdout))


def report(error: Explained, *, as_json: bool) -> int:
    """Print an error; returns its exit code."""
    if as_json:
        _write(json.dumps({"error": error.told}, ensure_ascii=False))
    else:
        sys.stderr.write(f"error: {error.message} [{error.code}]\n left: {error.left}\n next: {error.next}\n")
    return error.exit_code


def _json(answer: Answer) -> str:
    values = answer if isinstance(answer, list) else [answer]
    texts = [value.model_dump_json() for value in values]
    return f"[{', '.join(texts)}]" if isinstance(answer, list) else texts[0]


def _write(text: str) -> int:
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away; keep the interpreter from finding out again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
