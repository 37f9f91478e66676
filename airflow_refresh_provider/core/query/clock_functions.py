"""Finding the clock functions of a query, exactly: which characters of the text are one, and which only look like it.

Without parentheses `current_date` means the clock only where no column has that name. Columns of inputs are not known
here, so such a column must be quoted or qualified; names the query itself gives are seen, and a clash is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from airflow_refresh_provider.core.query.facts import CLOCK_CALLS, CLOCK_WORDS, ClockSpan
from airflow_refresh_provider.core.query.parse import Parsed, complaint, start_of

_CLOCK_NODES: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentTime: "current_time",
    exp.Localtimestamp: "localtimestamp",
}


def clock_spans(parsed: Parsed) -> tuple[ClockSpan, ...]:
    """Every clock function in order of the text. Raises Invalid when a name is ambiguous or a result column unnamed."""
    spans = tuple(_spans(parsed))
    if spans:
        _check_named(parsed, spans)
    return spans


def _spans(parsed: Parsed) -> Iterator[ClockSpan]:
    names = _named_starts(parsed.tree)
    tokens = parsed.tokens
    for i, token in enumerate(tokens):
        before = tokens[i - 1].token_type if i else None
        after = [t.token_type for t in tokens[i + 1 : i + 3]]
        name = parsed.text[token.start : token.end + 1].strip("`").lower()  # as written: a string keeps its quotes
        if name not in CLOCK_CALLS:
            continue
        if after == [TokenType.L_PAREN, TokenType.R_PAREN]:
            _check_unqualified(parsed, token, before)
            yield ClockSpan(function=name, start=token.start, end=tokens[i + 2].end + 1)
        elif after[:1] == [TokenType.L_PAREN]:
            _check_without_precision(parsed, token)
        elif _is_word(token, before, after) and token.start not in names:
            _check_unambiguous(parsed, token)
            yield ClockSpan(function=name, start=token.start, end=token.end + 1)


def _is_word(token: Token, before: TokenType | None, after: list[TokenType]) -> bool:
    """Whether a token may be a clock function without parentheses: unquoted, and no part of a dotted name."""
    quoted = token.token_type is TokenType.IDENTIFIER
    dotted = before is TokenType.DOT or after[:1] == [TokenType.DOT]
    return token.text.lower() in CLOCK_WORDS and not quoted and not dotted


def _named_starts(tree: exp.Expr) -> frozenset[int]:
    """Where names are given to something; a column that is only a clock word gives no name."""
    return frozenset(
        int(i.meta["start"]) for i in tree.find_all(exp.Identifier) if "start" in i.meta and not _bare_column(i.parent)
    )


def _bare_column(node: exp.Expr | None) -> bool:
    """Whether a node is a clock word that the parser took for a column."""
    return (
        isinstance(node, exp.Column)
        and node.name.lower() in CLOCK_WORDS
        and not node.table
        and not node.this.args.get("quoted")
    )


def clock_function(node: exp.Expr) -> str | None:
    """The clock function that a node is, in lower case; None where it is none."""
    anonymous = isinstance(node, exp.Anonymous) and node.name.lower() in CLOCK_CALLS and not node.expressions
    return node.name.lower() if anonymous or _bare_column(node) else _CLOCK_NODES.get(type(node))


def _check_unqualified(parsed: Parsed, token: Token, before: TokenType | None) -> None:
    if before is TokenType.DOT:
        raise complaint(
            parsed.text, token.start, f"{token.text}() has a schema before it", f"Write {token.text}() alone."
        )


def _check_without_precision(parsed: Parsed, token: Token) -> None:
    node = parsed.tree.find(exp.CurrentTime)
    if token.text.lower() == "current_time" and node is not None and node.this is not None:
        raise complaint(
            parsed.text, token.start, "current_time has a precision", "Write CAST(current_time() AS TIME(n))."
        )


def _check_unambiguous(parsed: Parsed, token: Token) -> None:
    """Refuse a clock word that the query also uses as a name for something else."""
    word = token.text.lower()
    for name in parsed.tree.find_all(exp.Identifier):
        own_alias = isinstance(name.parent, exp.Alias) and clock_function(name.parent.this)
        if name.name.lower() == word and not _bare_column(name.parent) and not own_alias:
            raise complaint(
                parsed.text,
                token.start,
                f"{token.text} is both a clock function and a name in this query",
                f"Write {word}() for the clock, or `{word}` in backticks for the column.",
            )


def _check_named(parsed: Parsed, spans: tuple[ClockSpan, ...]) -> None:
    """Refuse result columns that would get a new name at each run, because their name is the text of the literal."""
    for select in parsed.tree.find_all(exp.Select):
        if select.find_ancestor(exp.Where, exp.Having, exp.Qualify) is not None:
            continue  # a subquery of a condition names nothing
        for column in select.expressions:
            clock = next((n for n in column.walk() if clock_function(n)), None)
            if clock is not None and not isinstance(column, exp.Alias | exp.Aliases):
                raise complaint(
                    parsed.text,
                    start_of(clock) or spans[0].start,
                    "a column computed from the clock has no name of its own",
                    "Name it, for example current_date() AS loaded_on.",
                )
