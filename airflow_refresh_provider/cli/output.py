"""Printing: one result on stdout, as a table or as exactly one JSON value; errors in three parts.

As JSON an error is the result and goes to stdout; for people it goes to stderr. Whatever stdout is, what it cannot take
is no traceback: characters that its encoding does not have are escaped, and that it takes nothing at all is one line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from airflow_refresh_provider.errors import Explained

if TYPE_CHECKING:
    from airflow_refresh_provider.core.text.stored import Stored

    Answer = Stored | list[Stored]


def show(answer: Answer, *, as_json: bool) -> int:
    """Print a command's result; the exit code says whether anybody took it."""
    if as_json:
        return write(_json(answer), as_json=True)
    from airflow_refresh_provider.cli.drawing import draw
    from airflow_refresh_provider.views.sheets import sheet

    return _write(lambda out: draw(sheet(answer), out), as_json=False)


def report(error: Explained, *, as_json: bool) -> int:
    """Print an error; returns its exit code."""
    if as_json:
        write(json.dumps({"error": error.parts}, ensure_ascii=False), as_json=True)
    else:
        sys.stderr.write(f"error: {error.message} [{error.code}]\n left: {error.left}\n next: {error.next}\n")
    return error.exit_code


def write(text: str, *, as_json: bool = False) -> int:
    """Write a result to stdout; the exit code says whether anybody took it."""
    return _write(lambda _: text, as_json=as_json)


def _write(text: Callable[[TextIO], str], *, as_json: bool) -> int:
    """Write a text for stdout to it. To draw one may touch the stream already."""
    out = sys.stdout
    if out is None:
        return _not_taken("stdout is closed")
    try:
        out.write(f"{_encodable(text(out), out.encoding or 'utf-8', as_json=as_json)}\n")
        out.flush()
    except BrokenPipeError:  # the reader went away, and knows it
        _give_up(out)
        return 1
    except OSError as error:
        _give_up(out)
        return _not_taken(error.strerror or str(error))
    return 0


def _json(answer: Answer) -> str:
    values = answer if isinstance(answer, list) else [answer]
    texts = [value.model_dump_json() for value in values]
    return f"[{', '.join(texts)}]" if isinstance(answer, list) else texts[0]


def _encodable(text: str, encoding: str, *, as_json: bool) -> str:
    """A text that an encoding takes. JSON stays the same value."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        if as_json:
            return "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _give_up(out: TextIO) -> None:
    """Keep the interpreter from finding out again, when it exits, that nothing can be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _not_taken(why: str) -> int:
    sys.stderr.write(f"error: the result cannot be written to stdout: {why}\n")
    return 1
