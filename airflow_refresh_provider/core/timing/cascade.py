"""Cascades: definitions that read each other's targets, in the order in which they are refreshed.

A definition is upstream of another when its target is an input of that one. Inputs that no definition of the cascade
makes are bases: all definitions read them at the same version, so that results joined downstream agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult, RefreshStep
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Invalid

_NOT_REFRESHED = frozenset(
    {
        *(Outcome.FAILED, Outcome.REFUSED, Outcome.CANCELLED),
        *(Outcome.SKIPPED, Outcome.QUEUED, Outcome.BUDGET_SPENT),
    }
)
_BY_WEIGHT = (
    Outcome.FAILED,
    Outcome.REFUSED,
    Outcome.CANCELLED,
    Outcome.SKIPPED,
    Outcome.QUEUED,
    Outcome.BUDGET_SPENT,
    Outcome.SUCCEEDED,
    Outcome.NOTHING_TO_DO,
)
"""The outcome of several refreshes is the first of these that one of them has."""


class Link(Stored):
    """A definition and the names of those directly upstream, which come before it."""

    definition: Definition
    upstream: tuple[str, ...]


def ordered(definitions: Iterable[Definition]) -> tuple[Link, ...]:
    """Every definition after its upstream, else in the given order. Raises Invalid for a cycle or equal names."""
    given = list(definitions)
    if len({d.name for d in given}) < len(given) or len({d.target for d in given}) < len(given):
        raise Invalid(
            "cascade_ambiguous",
            "two definitions of a cascade have the same name or the same target",
            next="Give each definition a name and a target of its own.",
        )
    return upstream_first(given)


def upstream_first(definitions: Collection[Definition]) -> tuple[Link, ...]:
    """As `ordered`, for definitions whose names and targets are known to be unique. Raises Invalid for a cycle."""
    makers = {definition.target: definition.name for definition in definitions}
    links = {d.name: Link(definition=d, upstream=_upstream(d, makers)) for d in definitions}
    given = list(links)
    sorter = TopologicalSorter({name: link.upstream for name, link in links.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        raise _cycle(error.args[1]) from None
    found: list[str] = []
    while ready := sorter.get_ready():
        found += sorted(ready, key=given.index)
        sorter.done(*ready)
    return tuple(links[name] for name in found)


def located(definitions: Iterable[Definition], environment: Mapping[str, str]) -> list[Definition]:
    """The definitions with the variables in the paths of their inputs replaced, where the environment has them."""
    return [
        d.model_copy(update={"inputs": {name: _located(read, environment) for name, read in d.inputs.items()}})
        for d in definitions
    ]


def bases(links: Iterable[Link], written: Mapping[str, Definition]) -> dict[str, Input]:
    """The inputs that no definition of the cascade makes, one for each place, as they are written and by that path.

    `written`: name -> definition, before it was `located`.
    """
    links = tuple(links)
    made = {link.definition.target for link in links}
    by_place = {
        given.path: written[link.definition.name].inputs[name]
        for link in links
        for name, given in link.definition.inputs.items()
        if given.path not in made
    }
    return {read.path: read for read in by_place.values()}


def with_upstream(names: Collection[str], definitions: Sequence[Definition]) -> list[Definition]:
    """The named definitions and all that are upstream of them, directly or not."""
    makers = {definition.target: definition for definition in definitions}
    waiting = [definition for definition in definitions if definition.name in names]
    found: dict[str, Definition] = {}
    while waiting:
        definition = waiting.pop()
        if definition.name not in found:
            found[definition.name] = definition
            waiting += [makers[read.path] for read in definition.inputs.values() if read.path in makers]
    return [definition for definition in definitions if definition.name in found]


def failed_upstream(link: Link, before: Iterable[RefreshStep]) -> tuple[str, ...]:
    """The direct upstream definitions that were not refreshed, for which this one is skipped."""
    failed = {step.name for step in before if step.outcome in _NOT_REFRESHED}
    return tuple(name for name in link.upstream if name in failed)


def stopped_upstream(name: str, records: Mapping[str, Record], origin: str | None) -> tuple[str, ...]:
    """The definitions upstream of one, directly or not, whose runs for this origin have spent their budgets."""
    above = with_upstream([name], [record.definition for record in records.values()])
    runs = {d.name: run for d in above if (run := records[d.name].run)}
    return tuple(name for name, run in runs.items() if run.stopped and run.origin == origin)


def summary_of(steps: Iterable[RefreshStep]) -> RefreshesResult:
    """The steps and the outcome of all."""
    done = tuple(steps)
    outcomes = {step.outcome for step in done}
    worst = next((outcome for outcome in _BY_WEIGHT if outcome in outcomes), Outcome.NOTHING_TO_DO)
    return RefreshesResult(outcome=worst, refreshes=done)


def _located(read: Input, environment: Mapping[str, str]) -> Input:
    try:
        return read.expanded(environment)
    except Invalid:
        return read  # the refresh that reads it reports the missing variable


def _upstream(definition: Definition, makers: Mapping[str, str]) -> tuple[str, ...]:
    found = (makers[read.path] for read in definition.inputs.values() if read.path in makers)
    return tuple(dict.fromkeys(found))


def _cycle(circle: Sequence[str]) -> Invalid:
    """The error for a circle of names, in which each feeds the next and the first stands at the end again."""
    names = list(reversed(circle[1:]))
    first = names.index(min(names))
    return Invalid(
        "cascade_cycle",
        f"definitions read each other in a circle: {' reads '.join((*names[first:], *names[: first + 1]))}",
        next="Remove one of these inputs: a target cannot be kept equal to a query over itself.",
    )
