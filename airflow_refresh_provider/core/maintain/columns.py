"""The columns of a SELECT, and which of them have a value after GROUP BY and windows.

A row belongs to one group, and affects this group alone: of grouped rows the values of the group keys are known. A row
affects all rows of its window partitions: of these the columns of every PARTITION BY are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.relations import Relation
from airflow_refresh_provider.core.maintain.scopes import Output, Scope, conjuncts, inside_subquery
from airflow_refresh_provider.core.maintain.types import type_of
from airflow_refresh_provider.core.maintain.values import Known, canonical, value_of
from airflow_refresh_provider.core.query import spark_functions
from airflow_refresh_provider.core.query.facts import Obstacle
from airflow_refresh_provider.core.query.parse import start_of

if TYPE_CHECKING:
    from airflow_refresh_provider.core.maintain.queries import Reader


UNNAMED = "#"
"""What the names of columns begin with that have none, or that of another one: a query around them counts them too."""
UNLISTED = "columns that the query does not list"
"""What is said of a SELECT whose columns are not in the text."""
OF_ALL_ROWS = "an aggregate of all rows"
"""What is said of an aggregate without groups, unless it is computed for each row of the query around."""


def aliases(select: exp.Select, scope: Scope) -> dict[str, exp.Expr]:
    """The columns that get a name in the SELECT, which other clauses may use."""
    named = (part for part in select.expressions if isinstance(part, exp.Alias))
    return {part.alias.lower(): scope.qualified(part.this) for part in named}


def result(reader: Reader, select: exp.Select, block: Block) -> Relation:
    """The relation that a SELECT gives."""
    scope = block.scope
    named = distinctly_named(start_of(select), outputs(select, scope))
    routes = {}
    for occurrence, known in block.known.items():
        known = limited(select, scope, known)
        values = {name: value_of(expression, known) for name, expression in named.items()}
        routes[occurrence] = {name: value for name, value in values.items() if value is not None}
    found = Relation({name: type_of(expression, scope) for name, expression in named.items()}, routes)
    if blocked := _blocked(reader, select, scope):
        return found.without_routes(blocked)
    return found


def has_unnamed(relation: Relation) -> bool:
    """Whether it has columns without a name of their own, of which Spark makes up names."""
    return any(name.startswith(UNNAMED) for name in relation.names)


def group_names(select: exp.Select, scope: Scope) -> tuple[str, ...] | None:
    """The columns that identify a row of a grouped or distinct SELECT; None where they are not among its columns."""
    named = {name: canonical(expression) for name, expression in outputs(select, scope)}
    if not select.args.get("group"):
        return tuple(named) if select.args.get("distinct") and "" not in named else None
    return _names_of(group_keys(select, scope), named)


def first_names(select: exp.Select, scope: Scope) -> tuple[str, ...] | None:
    """The columns that identify a row where QUALIFY keeps one row of each partition; None elsewhere."""
    qualify = select.args.get("qualify")
    named = {name: canonical(expression) for name, expression in outputs(select, scope)}
    for part in conjuncts(qualify.this if qualify else None):
        window = _first_row(part, select)
        if window is not None:
            return _names_of([scope.qualified(one) for one in _partition(window, select)], named)
    return None


def _names_of(keys: list[exp.Expr], named: dict[str, str]) -> tuple[str, ...] | None:
    """The columns that have these values; None where one of them is no column, or there are none."""
    names = {text: name for name, text in reversed(named.items()) if name}
    found = [names.get(canonical(key)) for key in keys]
    return tuple(dict.fromkeys(name for name in found if name)) if keys and all(found) else None


def _first_row(condition: exp.Expr, select: exp.Select) -> exp.Window | None:
    """The window of `row_number() OVER (...) = 1`, which may have a name in the SELECT."""
    if not isinstance(condition, exp.EQ) or condition.right.sql() != "1":
        return None
    number = condition.left.unnest()
    if isinstance(number, exp.Column) and not number.table:
        number = next((one.unalias() for one in select.expressions if one.alias == number.name), number)
    return number if isinstance(number, exp.Window) and isinstance(number.this, exp.RowNumber) else None


def group_keys(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """What a SELECT groups by."""
    group = select.args.get("group")
    if not group:
        return []
    parts = _grouped_by_all(select) if group.args.get("all") else group.expressions
    return [_group_key(part, select, scope) for part in parts]


def limited(select: exp.Select, scope: Scope, known: Known) -> Known:
    """The values of a SELECT's rows that are left after GROUP BY and windows."""
    for limit in _limits(select, scope):
        known = _within(limit, known)
    return known


def outputs(select: exp.Select, scope: Scope) -> Iterator[Output]:
    """The columns that it gives: names and qualified expressions, `*` expanded."""
    for part in select.expressions:
        if part.is_star:
            yield from _star(part, scope)
        elif isinstance(part, exp.Aliases):
            yield from ((name.name.lower(), exp.Placeholder()) for name in part.args["expressions"])
        else:
            yield part.alias_or_name.lower(), scope.qualified(part.unalias())


def distinctly_named(at: object, found: Iterable[Output]) -> dict[str, exp.Expr]:
    """Columns by name, in their order. Those that cannot be named in Spark either are named by their place."""
    columns = list(found)
    times = Counter(name for name, _ in columns)
    return {
        name if name and times[name] == 1 else f"{UNNAMED}{at}.{number}": expression
        for number, (name, expression) in enumerate(columns)
    }


def _star(part: exp.Expr, scope: Scope) -> Iterator[Output]:
    star = part.this if isinstance(part, exp.Column) else part
    dropped = {name.name.lower() for name in star.args.get("except_") or star.args.get("except") or ()}
    listed = scope.listed(part.table.lower() if isinstance(part, exp.Column) else "")
    yield from ((name, value.copy()) for name, value in listed if name not in dropped)


def _limits(select: exp.Select, scope: Scope) -> list[list[exp.Expr]]:
    """Sets of expressions: of each, only these have a value."""
    limits = []
    if select.args.get("group"):
        limits.append(group_keys(select, scope))
    for window in _windows(select):
        limits.append([scope.qualified(part) for part in _partition(window, select)])
    return limits


def _within(limit: Iterable[exp.Expr], known: Known) -> Known:
    values = {canonical(part): value_of(part, known) for part in limit}
    return {text: value for text, value in values.items() if value is not None}


def _group_key(part: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """A key of GROUP BY, which may be a position or a name of the SELECT."""
    if isinstance(part, exp.Literal) and not part.is_string:
        index = int(part.this) - 1
        return scope.qualified(select.expressions[index].unalias()) if index < len(select.expressions) else part
    return scope.qualified(part).unnest()


def _grouped_by_all(select: exp.Select) -> list[exp.Expr]:
    """The columns that GROUP BY ALL groups by: those without an aggregate."""
    return [part.unalias() for part in select.expressions if next(_aggregates_in(part), None) is None]


def _is_mixed(part: exp.Expr) -> bool:
    """Whether a column has an aggregate and columns outside of it, by which GROUP BY ALL groups too; or is a `*`."""
    aggregates = list(_aggregates_in(part))
    inside = {id(node) for aggregate in aggregates for node in aggregate.find_all(exp.Column)}
    outside = any(id(node) not in inside for node in part.find_all(exp.Column))
    return part.is_star or (bool(aggregates) and outside)


def _windows(select: exp.Select) -> Iterator[exp.Window]:
    for clause in (*select.expressions, select.args.get("qualify")):
        if clause is not None:
            yield from (w for w in clause.find_all(exp.Window) if not inside_subquery(w, clause))


def _partition(window: exp.Window, select: exp.Select) -> list[exp.Expr]:
    named = {w.name.lower(): w for w in select.args.get("windows") or ()}
    reference = window.args.get("alias")
    if reference is not None and reference.name.lower() in named:
        return list(named[reference.name.lower()].args.get("partition_by") or ())
    return list(window.args.get("partition_by") or ())


def _is_unlisted(part: exp.Expr, scope: Scope) -> bool:
    """Whether a part of a SELECT stands for columns whose names, or number, cannot be read in the text."""
    if isinstance(part, exp.Column) and part.is_star:
        return part.table.lower() not in scope.visible
    if part.is_star:
        return any(not relation.types for relation in scope.visible.values())
    generators = (node for node in part.find_all(exp.Func) if _is_generator(node))
    return not isinstance(part, exp.Aliases | exp.Alias) and any(generators)


def _is_generator(node: exp.Func) -> bool:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key
    return isinstance(node, exp.Explode | exp.Posexplode | exp.Inline) or name in spark_functions.GENERATOR


def _blocked(reader: Reader, select: exp.Select, scope: Scope) -> Obstacle | None:
    """The construct for which all rows of a SELECT depend on each other."""
    for part in select.expressions:
        if not isinstance(select.parent, exp.Exists) and _is_unlisted(part, scope):
            return reader.at(part, UNLISTED)
    group = select.args.get("group")
    if window := _blocking_window(reader, select, scope):
        return window
    if group is None and (aggregate := next(_aggregates(select), None)) is not None:
        return reader.at(aggregate, OF_ALL_ROWS)
    if group is not None:
        for clause, what in (
            ("rollup", "ROLLUP"),
            ("cube", "CUBE"),
            ("grouping_sets", "GROUPING SETS"),
        ):
            if group.args.get(clause):
                return reader.at(group, what)
        if group.args.get("all") and any(map(_is_mixed, select.expressions)):
            return reader.at(group, "GROUP BY ALL beside a column with an aggregate and others")
    return None


def _blocking_window(reader: Reader, select: exp.Select, scope: Scope) -> Obstacle | None:
    """The first window without PARTITION BY, or without a column in it that all before it have."""
    common: set[str] | None = None
    for window in _windows(select):
        partition = {canonical(scope.qualified(part)) for part in _partition(window, select)}
        if not partition:
            return reader.at(window, "a window without PARTITION BY")
        common = partition if common is None else common & partition
        if not common:
            return reader.at(window, "a window whose PARTITION BY has no column of that of the windows before it")
    return None


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    for clause in (*select.expressions, select.args.get("having")):
        if clause is not None:
            yield from _aggregates_in(clause)


def _aggregates_in(clause: exp.Expr) -> Iterator[exp.Expr]:
    for node in clause.find_all(exp.Func):
        named = (
            isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and node.name.lower() in spark_functions.AGGREGATE
        )
        if (isinstance(node, exp.AggFunc) or named) and not inside_subquery(node, clause) and not _in_window(node):
            yield node


def _in_window(node: exp.Expr) -> bool:
    return node.find_ancestor(exp.Window) is not None
