"""Anchors: the columns of the result by which its rows are found that a change affects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airflow_refresh_provider.core.maintain.relations import Relation
from airflow_refresh_provider.core.maintain.values import Value


def chosen(result: Relation, keys: Iterable[str]) -> tuple[str, ...]:
    """The columns that follow the most inputs; of equal ones those with the fewest joins, and keys first.

    Other keys are added where they cost nothing: together they are in fewer rows. A column that is the same in all rows
    is none, and neither is one without a name.
    """
    wanted = [key.lower() for key in keys]
    order = [*wanted, *(name for name in result.names if name not in wanted)]
    names = [name for name in order if name and _is_selective(result, name)]
    if not names:
        return ()
    first = max(names, key=lambda name: (_followed(result, name), -_cost(result, name), -order.index(name)))
    with_it = [name for name in names if name in wanted and _as_good(result, name, first)]
    return tuple(sorted({first, *with_it}, key=order.index))


def followed_inputs(result: Relation, anchors: Sequence[str]) -> set[str]:
    """The inputs all of whose occurrences lead to all anchors."""
    inputs = {occurrence.input for occurrence in result.routes}
    lost = {o.input for o, routes in result.routes.items() if not all(name in routes for name in anchors)}
    return inputs - lost if anchors else set()


def _followed(result: Relation, name: str) -> int:
    return len(followed_inputs(result, (name,)))


def _is_selective(result: Relation, name: str) -> bool:
    """Whether some route to a column is more than a constant."""
    return any(not routes[name].constant for routes in result.routes.values() if name in routes)


def _cost(result: Relation, name: str) -> int:
    """How many joins it takes; a constant, which touches every row of its branch, counts as one."""
    values = [routes[name] for routes in result.routes.values() if name in routes]
    return sum(value.cost + value.constant for value in values)


def _as_good(result: Relation, name: str, first: str) -> bool:
    """Whether another column can be added to the anchors without a join and without losing an input."""
    return all(
        name in routes and routes[name].hops <= routes[first].hops
        for routes in result.routes.values()
        if first in routes
    )


def joined(values: Mapping[str, Value], anchors: Iterable[str]) -> frozenset[int]:
    """The hops that the anchors of one occurrence need."""
    return frozenset().union(*(values[name].hops for name in anchors))
