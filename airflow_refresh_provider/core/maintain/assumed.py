"""The columns of inputs as far as the text of a query names them, for an analysis without the inputs.

A qualified column is of the input that it names. Another one is of the only source that may have it; where several may,
it is not known of which, and the query would have to say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain.named import Names, NamesReader, Source
from airflow_refresh_provider.core.maintain.structs import ASSUMED
from airflow_refresh_provider.core.query.parse import Parsed, parse, start_of
from airflow_refresh_provider.core.text.wording import place_of


@dataclass(frozen=True)
class Unresolved:
    """A column, or a `*`, of which the text does not say which of some sources has it; its position counts from 1."""

    name: str
    sources: tuple[str, ...]
    line: int
    column: int


@dataclass
class Assumed:
    """The columns of each input that the text names, each of an assumed type, and what could not be resolved."""

    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    unresolved: tuple[Unresolved, ...] = ()


@dataclass(frozen=True)
class _Read:
    """A column that is read, of one of some sources."""

    scope: Names
    node: exp.Expr
    name: str
    sources: dict[str, Source]


def assumed_columns(query: str, inputs: Iterable[str], keys: Iterable[str]) -> Assumed:
    """What the text says of the columns of the inputs; the result has the keys. Raises Invalid for no query."""
    parsed = parse(query)
    spelled = {name.lower(): name for name in inputs}
    reader = NamesReader(dict.fromkeys(spelled))
    top = reader.source(parsed.tree, {}, None)
    qualified = [read for scope in reader.scopes for read in _qualified(scope)]
    _not_taken(qualified)
    left = [*_take_others(reader.scopes), *_not_taken(qualified)]
    for key in keys:
        top.take(key.lower())
    columns = {spelled[name]: dict.fromkeys(source.names, ASSUMED) for name, source in reader.inputs.items()}
    return Assumed(columns, tuple(_unresolved(parsed, left, reader.unlisted)))


def _qualified(scope: Names) -> Iterator[_Read]:
    for node in scope.columns:
        alias, name = parts_of(node, scope)
        around: Names | None = scope
        while alias and around is not None:
            if alias in around.sources:
                yield _Read(scope, node, name, {alias: around.sources[alias]})
                break
            around = around.outer


def _not_taken(qualified: Iterable[_Read]) -> list[_Read]:
    """Take the columns of named sources. Left are those that such a source may have from several inputs."""
    return [
        read for read in qualified for source in read.sources.values() if not source.take(read.name) and source.is_open
    ]


def parts_of(node: exp.Column, scope: Names) -> tuple[str, str]:
    """The source that a column names, '' for none, and the name of the column; fields of it are left out."""
    words = [part.name.lower() for part in node.parts]
    around: Names | None = scope
    while len(words) > 1 and around is not None:
        if words[0] in around.sources:
            return words[0], words[1]
        around = around.outer
    return "", words[0]


def _take_others(scopes: list[Names]) -> list[_Read]:
    """Resolve until nothing is added: a column that is known at one place is known at all. What is left over."""
    reads = [read for scope in scopes for read in _reads(scope)]
    while True:
        before = _size(scopes)
        left = [read for read in reads if not _is_taken(read.scope, read, read.sources)]
        if _size(scopes) == before:
            return left


def _size(scopes: list[Names]) -> int:
    return sum(len(source.names) for scope in scopes for source in scope.sources.values())


def _reads(scope: Names) -> Iterator[_Read]:
    for node in scope.columns:
        alias, name = parts_of(node, scope)
        if not alias:
            yield _Read(scope, node, name, scope.around(node))
    for identifier, side in scope.merged:
        yield _Read(scope, identifier, identifier.name.lower(), {alias: scope.sources[alias] for alias in side})


def _is_taken(scope: Names, read: _Read, sources: dict[str, Source]) -> bool:
    """Whether it is known which source has a column; then that one has it from now on."""
    if any(source.has(read.name) for source in sources.values()) or scope.is_alias(read.name, read.node):
        return True
    several = [source for source in sources.values() if source.is_open]
    if not several:  # a column that nothing has is refused by Spark
        return scope.outer is None or _is_taken(scope.outer, read, scope.outer.around(read.node))
    return len(several) == 1 and not _may_be_outside(scope.outer, read.name) and several[0].take(read.name)


def _may_be_outside(scope: Names | None, name: str) -> bool:
    while scope is not None:
        if any(source.has(name) or source.is_open for source in scope.sources.values()):
            return True
        scope = scope.outer
    return False


def _unresolved(
    parsed: Parsed, left: Iterable[_Read], unlisted: Iterable[tuple[exp.Expr, list[str]]]
) -> Iterator[Unresolved]:
    for read in left:
        yield _at(parsed, read.node, read.name, _open_names(read.scope))
    for star, names in unlisted:
        yield _at(parsed, star, "*", names)


def _at(parsed: Parsed, node: exp.Expr, name: str, sources: list[str]) -> Unresolved:
    line, column = place_of(parsed.text, start_of(node))
    return Unresolved(name, tuple(dict.fromkeys(sources)), line, column)


def _open_names(scope: Names | None) -> list[str]:
    found = []
    while scope is not None:
        found += [alias for alias, source in scope.sources.items() if source.is_open]
        scope = scope.outer
    return found
