"""The text of a query taken apart: a WITH query or a derived table, and the query around that reads its result.

The text is cut, and never generated: what is between the cuts stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from airflow_refresh_provider.core.query.parse import Parsed, parse


@dataclass(frozen=True)
class Piece:
    """A query inside of another: `name` is what the query around reads it by, `inner` and `outer` are their texts."""

    name: str
    inner: str
    outer: str


@dataclass(frozen=True)
class _Text:
    """A query: the WITH queries before it, by name, each as `name AS (...)`, and the rest."""

    with_: dict[str, str]
    body: str

    def needed(self, tree: exp.Expr) -> str:
        """A query of this tree and text with the WITH queries that it reads, and no others."""
        names = self._read(tree)
        return _joined([text for name, text in self.with_.items() if name in names], self.body)

    def _read(self, tree: exp.Expr) -> set[str]:
        names: set[str] = set()
        found = _tables(tree)
        while new := found & self.with_.keys() - names:
            names |= new
            found = set().union(*(_tables(parse(_joined([], _body_of(self.with_[name]))).tree) for name in new))
        return names


def pieces(parsed: Parsed) -> Iterator[Piece]:
    """The WITH queries of a query and its derived tables with an alias, outermost first."""
    clause = parsed.tree.args.get("with_")
    if clause is not None and (clause.args.get("recursive") or any(map(_has_columns, clause.expressions))):
        return
    text = _split(parsed)
    for name in text.with_:
        yield _of_with(text, name)
    for node in parsed.tree.find_all(exp.Subquery):
        is_source = isinstance(node.parent, exp.From | exp.Join) and isinstance(node.this, exp.Query)
        if is_source and node.alias and not _has_columns(node):
            yield _derived(parsed, text, node)


def _of_with(text: _Text, name: str) -> Piece:
    body = _body_of(text.with_[name])
    before = dict(list(text.with_.items())[: list(text.with_).index(name)])
    others = {other: query for other, query in text.with_.items() if other != name}
    inner = _Text(before, body).needed(parse(body).tree)
    return Piece(name, inner, _Text(others, text.body).needed(parse(text.body).tree))


def _derived(parsed: Parsed, text: _Text, node: exp.Subquery) -> Piece:
    """A derived table; where it stands its alias is read."""
    alias = node.args["alias"].this
    start, end = _span(parsed, int(alias.meta["start"]))
    inner = _Text(text.with_, parsed.text[start + 1 : end].strip()).needed(node.this)
    around = parse(f"{parsed.text[:start]}{alias.sql('spark')}{parsed.text[int(alias.meta['end']) + 1 :]}")
    whole = _split(around)
    return Piece(node.alias.lower(), inner, whole.needed(parse(whole.body).tree))


def _split(parsed: Parsed) -> _Text:
    clause = parsed.tree.args.get("with_")
    if clause is None:
        return _Text({}, parsed.text.strip())
    spans = [_with_span(parsed, cte) for cte in clause.expressions]
    parts = {c.alias.lower(): parsed.text[a:b] for c, (a, b) in zip(clause.expressions, spans, strict=True)}
    return _Text(parts, parsed.text[spans[-1][1] :].strip())


def _with_span(parsed: Parsed, cte: exp.CTE) -> tuple[int, int]:
    """From the name of a WITH query to behind its last parenthesis."""
    start = int(cte.args["alias"].this.meta["start"])
    opening = (i for i, t in enumerate(parsed.tokens) if t.start > start and t.token_type is TokenType.L_PAREN)
    first = next(opening, None)
    if first is None:
        raise ValueError("a WITH query that is not in the text: the parser makes them of the steps after |>")
    return start, int(parsed.tokens[_closing(parsed, first)].end) + 1


def _closing(parsed: Parsed, opening: int) -> int:
    depth = 0
    for i in range(opening, len(parsed.tokens)):
        kind = parsed.tokens[i].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return i
    raise ValueError("a parenthesis is not closed")


def _span(parsed: Parsed, alias: int) -> tuple[int, int]:
    """The parentheses of a derived table: those that close before its alias."""
    before = [i for i, token in enumerate(parsed.tokens) if token.start < alias]
    closing = before[-1] - (parsed.tokens[before[-1]].token_type is TokenType.ALIAS)
    depth = 0
    for i in range(closing, -1, -1):
        kind = parsed.tokens[i].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth == 0:
            return int(parsed.tokens[i].start), int(parsed.tokens[closing].end)
    raise ValueError("a parenthesis is not opened")


def _body_of(with_query: str) -> str:
    """The query between the parentheses of `name AS (...)`."""
    return with_query[with_query.index("(") + 1 : -1].strip()


def _joined(with_: list[str], body: str) -> str:
    return f"WITH {', '.join(with_)}\n{body}" if with_ else body


def _tables(tree: exp.Expr) -> set[str]:
    return {table.name.lower() for table in tree.find_all(exp.Table)}


def _has_columns(node: exp.Expr) -> bool:
    """Whether a query is given other names of its columns after its own."""
    return bool(node.args["alias"].args.get("columns"))
