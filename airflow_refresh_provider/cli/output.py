"""Printing: one result on stdout, as a table or as exactly one JSON value; errors in three parts.

As JSON an error goes to stdout, as the result; as text it goes to stderr. Characters that the encoding of stdout does
not have are escaped. A stdout that cannot be written to is one line on stderr, not a traceback.
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

    Result = Stored | list[Stored]


def show(result: Result, *, as_json: bool) -> int:
    """Print a command's result; the exit code is 1 if it cannot be written."""
    if as_json:
        return write(_json(result), as_json=True)
    from airflow_refresh_provider.cli.terminal import drawn
    from airflow_refresh_provider.views.tables import table_of

    return _write(lambda out: drawn(table_of(result), out), as_json=False)


def report(error: Explained, *, as_json: bool) -> int:
    """Print an error; returns its exit code."""
    if as_json:
        write(json.dumps({"error": error.parts}, ensure_ascii=False), as_json=True)
    else:
        sys.stderr.write(f"error: {error.message} [{error.code}]\n left: {error.left}\n next: {error.next}\n")
    return error.exit_code


def write(text: str, *, as_json: bool = False) -> int:
    """Write a result to stdout; the exit code is 1 if it cannot be written."""
    return _write(lambda _: text, as_json=as_json)


def _write(text: Callable[[TextIO], str], *, as_json: bool) -> int:
    """As `write`, for a text that is made for the stream."""
    out = sys.stdout
    if out is None:
        return _not_written("stdout is closed")
    try:
        out.write(f"{_encodable(text(out), out.encoding or 'utf-8', as_json=as_json)}\n")
        out.flush()
    except BrokenPipeError:  # the reader has closed the pipe
        _redirect_to_null(out)
        return 1
    except OSError as error:
        _redirect_to_null(out)
        return _not_written(error.strerror or str(error))
    return 0


def _json(result: Result) -> str:
    values = result if isinstance(result, list) else [result]
    texts = [value.model_dump_json() for value in values]
    return f"[{', '.join(texts)}]" if isinstance(result, list) else texts[0]


def _encodable(text: str, encoding: str, *, as_json: bool) -> str:
    """The text in characters of an encoding. JSON stays the same value."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        if as_json:
            return "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _redirect_to_null(out: TextIO) -> None:
    """The interpreter flushes the stream when it exits, and would report the error again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _not_written(reason: str) -> int:
    sys.stderr.write(f"error: the result cannot be written to stdout: {reason}\n")
    return 1
