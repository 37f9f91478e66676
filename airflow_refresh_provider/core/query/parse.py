"""Parsing one query, and the positions of errors in it.

Only one SELECT statement passes. Every error about a query names line and column, both counted from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_refresh_provider.core.text import wording
from airflow_refresh_provider.errors import Invalid

_OPENERS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN})
_PARAMETERS = frozenset({TokenType.COLON, TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.L_BRACE})
_NOT_A_READ = (exp.DML, exp.DDL, exp.Into, exp.Lock, exp.Command)
_PARSER_ERRORS = (SqlglotError, RecursionError, AttributeError, LookupError, TypeError, ValueError)
"""What the parser raises; a wrong number of arguments to a function ends in one of the builtin errors."""

_VARIABLE = re.compile(r"\$\{[^}$ ]+\}")  # Spark replaces these everywhere, strings and comments included


@dataclass(frozen=True)
class Parsed:
    """A query as text, as tokens and as a tree."""

    text: str
    tokens: tuple[Token, ...]
    tree: exp.Query


def parse(query: str) -> Parsed:
    """Parse the one SELECT a query is. Raises Invalid."""
    if variable := _VARIABLE.search(query):
        raise complaint(query, variable.start(), f"has the variable {variable[0]}", "Write its value into the query.")
    tokens = _tokens(query)
    if not tokens or tokens[0].token_type not in _OPENERS:
        raise _not_one_select(query, tokens[0].start if tokens else 0)
    for i, token in enumerate(tokens[:-1]):
        if token.token_type is TokenType.SEMICOLON and tokens[i + 1].token_type is not TokenType.SEMICOLON:
            raise _not_one_select(query, tokens[i + 1].start)
    tree = _tree(query, tokens)
    if not isinstance(tree, exp.Query):
        raise _not_one_select(query, tokens[0].start)
    _check_reads_only(query, tree, tokens)
    return Parsed(query, tuple(tokens), tree)


def complaint(query: str, offset: int, what: str, next: str, code: str = "query_invalid") -> Invalid:
    """An error about the query at a character of it."""
    return Invalid(code, f"query, {place_of(query, offset)}: {what}", next=next)


def place_of(query: str, offset: int) -> str:
    """The position of a character, as text."""
    line, column = wording.place_of(query, offset)
    return f"line {line}, column {column}"


def start_of(node: exp.Expr) -> int:
    """The first character of a node, as far as the parser knows it; 0 if it does not."""
    starts = (part.meta["start"] for part in node.walk() if "start" in part.meta)
    return min((int(s) for s in starts), default=0)


def _tokens(query: str) -> list[Token]:
    try:
        return Dialect.get_or_raise("spark").tokenize(query)
    except SqlglotError:
        raise complaint(
            query,
            len(query),
            "ends inside a string, a quoted name or a comment",
            "Close the string, the quoted name or the comment.",
        ) from None


def _tree(query: str, tokens: list[Token]) -> exp.Expr | None:
    try:
        trees = Dialect.get_or_raise("spark").parser().parse(tokens, query)
    except ParseError as error:
        offset, near = _place(query, error)
        what = f"cannot be parsed near {near!r}" if near else "cannot be parsed"
        raise complaint(query, offset, what, "Correct the SQL; it must be a Spark SQL SELECT.") from None
    except _PARSER_ERRORS:
        raise complaint(query, 0, "cannot be parsed", "Simplify the SQL; it must be a Spark SQL SELECT.") from None
    return trees[0]


def _place(query: str, error: ParseError) -> tuple[int, str]:
    """First character and text of the error. The parser names the line and the last character's column."""
    found = error.errors[0]
    near = str(found["highlight"] or "")
    line_start = 0
    for _ in range(int(found["line"] or 1) - 1):
        line_start = query.index("\n", line_start) + 1
    return max(0, line_start + int(found["col"] or 1) - max(1, len(near))), near


def _not_one_select(query: str, offset: int) -> Invalid:
    return complaint(query, offset, "must be exactly one SELECT statement", "Keep one SELECT, and nothing else.")


def _check_reads_only(query: str, tree: exp.Query, tokens: list[Token]) -> None:
    for node in tree.walk():
        match node:
            case exp.QueryTransform():
                raise complaint(query, start_of(node), "runs a script (TRANSFORM ... USING)", "Write it in SQL.")
            case exp.Placeholder() | exp.Parameter():
                place = next((t.start for t in tokens if t.token_type in _PARAMETERS), start_of(node))
                raise complaint(query, place, "has a parameter", "Write its value into the query.")
            case _ if isinstance(node, _NOT_A_READ):
                raise _not_one_select(query, start_of(node))
