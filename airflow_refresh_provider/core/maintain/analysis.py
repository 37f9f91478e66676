"""The analysis of one query: anchors, routes, and what of each input is needed for some values of the anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain import sums, temporal
from airflow_refresh_provider.core.maintain.anchors import chosen, followed_inputs, joined
from airflow_refresh_provider.core.maintain.plan import Hop, Maintenance, Route, Sums, Use
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.maintain.relations import InputColumns, Occurrence, Relation
from airflow_refresh_provider.core.maintain.used import used_columns
from airflow_refresh_provider.core.maintain.values import CHANGED, Value
from airflow_refresh_provider.core.query.clock_functions import clock_function, clock_spans
from airflow_refresh_provider.core.query.facts import ClockSpan, Obstacle
from airflow_refresh_provider.core.query.parse import Parsed, parse, start_of
from airflow_refresh_provider.core.query.row_wise import obstacle_at

LEADS_NOWHERE = "without a column that leads to one of the result"
"""What is said of an input when no construct above it is to blame."""

NOT_THERE = "which no input has"
"""What is said of a column when an input leads nowhere, and it may be the cause."""

_METADATA = "_metadata"
"""A column that Spark adds to files."""

NO_FILTER = "outside of a condition of WHERE over columns of one input"
"""What is said of a clock function that is not in a temporal filter."""

UNEXPECTED = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a tree of another shape than expected ends in: then everything is computed, which is always right."""


def maintenance_of(definition: Definition, inputs: Mapping[str, Mapping[str, str]]) -> Maintenance:
    """How the target of a definition follows its inputs.

    Groups that it keeps without rows have numbers that no row stands for: to these nothing can be added.
    """
    found = maintenance(definition.query_text, inputs, definition.keys)
    return found if definition.deletes is Deletes.APPLY else found.without_sums()


def maintenance(query: str, inputs: Mapping[str, Mapping[str, str]], keys: Iterable[str]) -> Maintenance:
    """How the result of a query, by its keys, follows its inputs, whose columns and types are given."""
    parsed = parse(query)
    reader = Reader(parsed, lower_names(inputs))
    try:
        result = reader.relation(parsed.tree, {})
    except UNEXPECTED:
        what = obstacle_at(parsed, 0, "a construct that is not understood")
        return Maintenance(anchors=(), routes=(), uses=(), unfollowed=dict.fromkeys(inputs, what))
    if clock := _clock(parsed, reader.temporal):
        return Maintenance(anchors=(), routes=(), uses=(), unfollowed=dict.fromkeys(inputs, clock))
    anchors = chosen(result, keys)
    followed = followed_inputs(result, anchors) - _unread(parsed, reader.occurrences, result)
    spelled = {name.lower(): name for name in inputs}
    added = None if reader.temporal else sums.spelled(_sums(reader, keys), spelled)
    unfollowed = _unfollowed(reader, followed, spelled)
    only_added_up = {name: unfollowed.pop(name) for name in (added.inputs if added else ()) if name in unfollowed}
    return Maintenance(
        columns=result.names,
        anchors=anchors,
        routes=tuple(
            _route(occurrence, result.routes[occurrence], anchors, spelled)
            for occurrence in reader.occurrences
            if occurrence.input in followed
        ),
        uses=tuple(_uses(reader.occurrences, result, anchors, spelled)),
        unfollowed=unfollowed,
        used=_used(reader.occurrences, followed, spelled),
        sums=added,
        only_added_up=only_added_up,
        temporal=temporal.spelled((found.filter for found in reader.temporal), spelled),
    )


def _clock(parsed: Parsed, followed: Iterable[temporal.Found]) -> Obstacle | None:
    """The first clock function whose passing is not followed."""
    spans = clock_spans(parsed)
    known = {id(clock) for found in followed for clock in found.clocks}
    others = [node for node in parsed.tree.walk() if clock_function(node) and id(node) not in known]
    if not others and len(known) == len(spans):
        return None
    first = next((span for span in spans if any(_is_at(node, span) for node in others)), spans[0])
    return obstacle_at(parsed, first.start, f"the clock function {first.function} {NO_FILTER}")


def _is_at(node: exp.Expr, span: ClockSpan) -> bool:
    """Whether a clock function is that of a place; of some the parser does not know where they are."""
    start = start_of(node)
    return span.start == start if start else span.function == clock_function(node)


def _sums(reader: Reader, keys: Iterable[str]) -> Sums | None:
    try:
        return sums.sums(reader, keys)
    except UNEXPECTED:
        return None


def _unread(parsed: Parsed, occurrences: Iterable[Occurrence], result: Relation) -> set[str]:
    """Inputs that the text reads in a construct that is not understood: it is not known where their rows lead."""
    seen = {id(occurrence.table) for occurrence in occurrences if occurrence in result.routes}
    return {table.name.lower() for table in parsed.tree.find_all(exp.Table) if id(table) not in seen}


def _used(
    occurrences: Iterable[Occurrence], followed: Iterable[str], spelled: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    read = list(occurrences)
    found = {name: used_columns(o for o in read if o.input == name) for name in sorted(followed)}
    return {spelled[name]: columns for name, columns in found.items() if columns}


def lower_names(inputs: Mapping[str, Mapping[str, str]]) -> InputColumns:
    return {name.lower(): {c.lower(): t for c, t in columns.items()} for name, columns in inputs.items()}


def _route(
    occurrence: Occurrence, values: Mapping[str, Value], anchors: tuple[str, ...], spelled: Mapping[str, str]
) -> Route:
    needed = _with_those_below(occurrence, joined(values, anchors))
    hops = tuple(
        Hop(input=spelled[link.input], alias=link.alias, on=" AND ".join(map(_text, link.on)))
        for link in occurrence.links
        if link.number in needed
    )
    return Route(
        input=spelled[occurrence.input], hops=hops, values=tuple(_text(values[anchor].sql) for anchor in anchors)
    )


def _with_those_below(occurrence: Occurrence, needed: frozenset[int]) -> frozenset[int]:
    below = {link.number: link.needs for link in occurrence.links}
    return needed.union(*(below[number] for number in needed))


def _uses(
    occurrences: Iterable[Occurrence],
    result: Relation,
    anchors: tuple[str, ...],
    spelled: Mapping[str, str],
) -> Iterable[Use]:
    """Each place of the text that reads an input; one that is read several times has to serve all of these."""
    by_place: dict[int, list[Occurrence]] = {}
    for occurrence in occurrences:
        by_place.setdefault(start_of(occurrence.table.this), []).append(occurrence)
    for start, several in sorted(by_place.items()):
        table = several[0].table
        alternatives = [_restriction(result.routes.get(occurrence, {}), anchors) for occurrence in several]
        usable = [one for one in alternatives if any(one)]
        yield Use(
            input=spelled[several[0].input],
            start=start,
            end=int(table.this.meta["end"]) + 1,
            aliased=table.args.get("alias") is not None and bool(table.alias),
            restrictions=tuple(dict.fromkeys(usable)) if len(usable) == len(alternatives) else None,
        )


def _restriction(values: Mapping[str, Value], anchors: tuple[str, ...]) -> tuple[str | None, ...]:
    """For each anchor its value from the columns of the row alone."""
    found = [values.get(anchor) for anchor in anchors]
    return tuple(_unaliased(value.sql) if value is not None and not value.hops else None for value in found)


def _unaliased(sql: exp.Expr) -> str:
    copy = sql.copy()
    for node in list(copy.find_all(exp.Column)):
        if node.table == CHANGED:
            node.set("table", None)
    return _text(copy)


def _text(sql: exp.Expr) -> str:
    return str(sql.sql("spark", comments=False))


def _unfollowed(reader: Reader, followed: set[str], spelled: Mapping[str, str]) -> dict[str, Obstacle]:
    """Why each other input is not followed: the construct above it, a column that is not there, a comparison of values
    of two types, or the place that reads it.
    """
    parsed = reader.parsed
    blocked = {o.input: o.blocked for o in reversed(reader.occurrences) if o.blocked}
    missing = _missing(reader)
    found: dict[str, Obstacle] = {}
    for table in parsed.tree.find_all(exp.Table):
        name = table.name.lower()
        if name in spelled and name not in followed and spelled[name] not in found:
            compared = reader.incomparable.get(name)
            why = f"by a comparison of {compared}, which are of two types" if compared else LEADS_NOWHERE
            nowhere = obstacle_at(parsed, start_of(table), f"{spelled[name]} {why}")
            found[spelled[name]] = blocked.get(name) or missing or nowhere
    return found


def _missing(reader: Reader) -> Obstacle | None:
    """The first column that is not there."""
    nodes = [node for node in reader.missing if node.parts[0].name.lower() != _METADATA]
    first = min(nodes, key=start_of, default=None)
    if first is None:
        return None
    return obstacle_at(reader.parsed, start_of(first), f"the column {_text(first)}, {NOT_THERE}")
