"""Where the expressions of the result's columns start in a query."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.errors import Invalid

_ENDS = frozenset({TokenType.FROM, TokenType.UNION, TokenType.WHERE, TokenType.SEMICOLON})
_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def start_of_output(query: str, name: str) -> int | None:
    """The first character of the expression that gives a column; None when the query does not name the column."""
    try:
        tokens = parse(query).tokens
    except Invalid:
        return None
    for item in _items(tokens):
        if item[-1].text.lower() == name.lower():
            return int(item[0].start)
    return None


def end_of_outputs(tokens: tuple[Token, ...]) -> int | None:
    """The character after the last expression that the first SELECT outside of parentheses lists; None without one."""
    items = list(_items(tokens))
    return int(items[-1][-1].end) + 1 if items else None


def _items(tokens: tuple[Token, ...]) -> Iterator[list[Token]]:
    """What the first SELECT outside of parentheses lists, without empty items."""
    depth, selecting = 0, False
    item: list[Token] = []
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPEN) - (kind in _CLOSE)
        if depth == 0 and selecting and (kind is TokenType.COMMA or kind in _ENDS):
            if item:
                yield item
            if kind is not TokenType.COMMA:
                return
            item = []
        elif selecting:
            item.append(token)
        elif depth == 0 and kind is TokenType.SELECT:
            selecting = True
    if item:
        yield item
