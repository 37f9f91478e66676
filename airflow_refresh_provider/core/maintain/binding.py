"""The text of a query with the places that read an input renamed, each to a relation of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

from airflow_refresh_provider.core.maintain.plan import Maintenance, Route, Use
from airflow_refresh_provider.core.query.facts import ClockSpan
from airflow_refresh_provider.core.query.query import bound_place


def use_name(number: int) -> str:
    """The name of the relation that is read at a place, by its number in the text."""
    return f"airflow_refresh_use_{number}"


def changed_name(input: str) -> str:
    """The name of the rows of an input that changed."""
    return f"airflow_refresh_changed_{input}"


def wide_name(input: str) -> str:
    """The name of the rows of an input that are there now, or were before the change."""
    return f"airflow_refresh_wide_{input}"


def bound(query: str, uses: Iterable[Use]) -> str:
    """The query with each use under its own name; every other character stays."""
    parts: list[str] = []
    done = 0
    for number, use in enumerate(uses):
        alias = "" if use.aliased else f" AS {query[use.start : use.end]}"
        parts += [query[done : use.start], use_name(number), alias]
        done = use.end
    return "".join((*parts, query[done:]))


def at_moment(found: Maintenance, clocks: Sequence[ClockSpan], moment: datetime) -> Maintenance:
    """The analysis of a query for its text with these clock functions bound to a moment."""
    place = partial(bound_place, clocks, moment)
    uses = (use.model_copy(update={"start": place(use.start), "end": place(use.end)}) for use in found.uses)
    return found.model_copy(update={"uses": tuple(uses)})


def touching(route: Route, types: Iterable[str]) -> str:
    """The query that gives the values of the anchors, of these types, which the changed rows of an input touch.

    A value that several rows touch is given several times.

    A value that its anchor cannot hold is no value of any row: it becomes NULL.
    """
    values = (
        f"try_cast({value} AS {kind}) AS k{n}" for n, (value, kind) in enumerate(zip(route.values, types, strict=True))
    )
    joins = (f" JOIN {_quoted(wide_name(hop.input))} {hop.alias} ON {hop.on}" for hop in route.hops)
    return f"SELECT {', '.join(values)} FROM {_quoted(changed_name(route.input))} h0{''.join(joins)}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
