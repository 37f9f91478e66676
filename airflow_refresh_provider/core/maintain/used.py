"""The columns of the inputs that a query reads: changes of other columns change nothing.

A column that cannot be resolved may be any: then all columns of the sources around it count.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from airflow_refresh_provider.core.maintain.columns import has_unnamed
from airflow_refresh_provider.core.maintain.relations import Occurrence, Relation
from airflow_refresh_provider.core.maintain.scopes import Scope, inside_subquery


def record(select: exp.Select, scope: Scope) -> list[exp.Column]:
    """Note the columns that a SELECT reads, in the occurrences of the inputs that they are of.

    Returns those that no source has.
    """
    missing = []
    for node in select.find_all(exp.Column, exp.Star):
        if inside_subquery(node, select):
            continue
        if isinstance(node, exp.Star):
            _record_star(node, scope)
        elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) and not _record_column(node, scope):
            missing.append(node)
    for name in scope.merged:
        _mark(scope, scope.sources, name)
    return missing


def used_columns(occurrences: Iterable[Occurrence]) -> tuple[str, ...] | None:
    """The columns that some occurrences of one input read together; None for all, and where none is read."""
    found: set[str] = set()
    for occurrence in occurrences:
        if occurrence.used is None:
            return None
        found |= occurrence.used
    return tuple(sorted(found)) or None


def _record_star(star: exp.Star, scope: Scope) -> None:
    """`count(*)` reads no column, any other star all columns: of one source if it is named."""
    if isinstance(star.parent, exp.Count):
        return
    only = star.parent.table.lower() if isinstance(star.parent, exp.Column) else ""
    _mark_all(scope, [only] if only in scope.sources else scope.sources)


def _record_column(node: exp.Column, scope: Scope) -> bool:
    """Whether a source has the column, or one may have it whose columns are not all known by name."""
    if found := scope.locate(node):
        for column in found[0].find_all(exp.Column):
            _mark(scope, [column.table], column.name)
        return True
    if not node.table and node.name.lower() in scope.aliases:
        return True
    may_have_it = any(map(_is_open, scope.sources.values()))
    if scope.outer is not None:
        return _record_column(node, scope.outer) or may_have_it
    _mark_all(scope, scope.sources)
    return may_have_it


def _is_open(relation: Relation) -> bool:
    return not relation.types or has_unnamed(relation)


def _mark(scope: Scope, aliases: Iterable[str], name: str) -> None:
    for alias in aliases:
        relation = scope.sources[alias]
        if relation.leaf is not None and name in relation.types:
            for occurrence in relation.routes:
                if occurrence.input == relation.leaf:
                    occurrence.use(name)


def _mark_all(scope: Scope, aliases: Iterable[str]) -> None:
    for alias in aliases:
        for occurrence in scope.sources[alias].routes:
            occurrence.used = None
