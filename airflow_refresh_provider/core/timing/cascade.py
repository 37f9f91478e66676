"""Cascades: definitions that feed each other, in the order in which they are refreshed.

One feeds another when its target is an input of it. An input that is not a target of one of them is a base: all
definitions read it at the same version, so that joins downstream are consistent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.results import CascadeResult, CascadeStep, Outcome
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Invalid

_BAD = frozenset({Outcome.FAILED, Outcome.REFUSED, Outcome.SKIPPED})
_MATTERS = (
    Outcome.FAILED,
    Outcome.REFUSED,
    Outcome.SKIPPED,
    Outcome.SUCCEEDED,
    Outcome.NOTHING_TO_DO,
)
"""Which state of several says most about all."""


class Link(Stored):
    """A definition, and the names of those that feed it, which come before it."""

    definition: Definition
    parents: tuple[str, ...]


def ordered(definitions: Iterable[Definition]) -> tuple[Link, ...]:
    """Every definition after those that feed it, otherwise as given. Raises Invalid for a cycle or equal names."""
    given = list(definitions)
    if len({d.name for d in given}) < len(given) or len({d.target for d in given}) < len(given):
        raise Invalid(
            "cascade_ambiguous",
            "two definitions of a cascade have one name, or one target",
            next="Give each definition a name and a target of its own.",
        )
    return upstream_first(given)


def upstream_first(definitions: Collection[Definition]) -> tuple[Link, ...]:
    """As `ordered`, for definitions of different names that are not located yet. Raises Invalid for a cycle."""
    makers = {definition.target: definition.name for definition in definitions}
    waiting = {d.name: Link(definition=d, parents=_parents(d, makers)) for d in definitions}
    done: dict[str, Link] = {}
    while waiting:
        ready = [name for name, link in waiting.items() if done.keys() >= set(link.parents)]
        if not ready:
            raise _cycle(waiting)
        for name in ready:
            done[name] = waiting.pop(name)
    return tuple(done.values())


def located(definitions: Iterable[Definition], environment: Mapping[str, str]) -> list[Definition]:
    """The definitions with their inputs at the places that variables stand for, as far as the environment has them."""
    return [
        d.model_copy(update={"inputs": {name: _located(read, environment) for name, read in d.inputs.items()}})
        for d in definitions
    ]


def bases(links: Iterable[Link]) -> dict[str, Input]:
    """What the definitions read and none of them makes, by place."""
    links = tuple(links)
    made = {link.definition.target for link in links}
    read = (given for link in links for given in link.definition.inputs.values())
    return {given.path: given for given in read if given.path not in made}


def with_upstream(names: Collection[str], definitions: Sequence[Definition]) -> list[Definition]:
    """The named ones of some definitions and those that feed them, whether directly or not."""
    makers = {definition.target: definition for definition in definitions}
    waiting = [definition for definition in definitions if definition.name in names]
    found: dict[str, Definition] = {}
    while waiting:
        definition = waiting.pop()
        if definition.name not in found:
            found[definition.name] = definition
            waiting += [makers[read.path] for read in definition.inputs.values() if read.path in makers]
    return [definition for definition in definitions if definition.name in found]


def failed_upstream(link: Link, before: Iterable[CascadeStep]) -> tuple[str, ...]:
    """Those that feed a definition and were not refreshed: it has to wait for them."""
    bad = {step.name for step in before if step.outcome in _BAD}
    return tuple(parent for parent in link.parents if parent in bad)


def summary_of(steps: Iterable[CascadeStep]) -> CascadeResult:
    """The steps with the state of the whole."""
    done = tuple(steps)
    states = {step.outcome for step in done}
    return CascadeResult(outcome=next(state for state in _MATTERS if state in states), refreshes=done)


def _located(read: Input, environment: Mapping[str, str]) -> Input:
    try:
        return read.expanded(environment)
    except Invalid:
        return read  # its refresh reports what is missing


def _parents(definition: Definition, makers: Mapping[str, str]) -> tuple[str, ...]:
    found = (makers[read.path] for read in definition.inputs.values() if read.path in makers)
    return tuple(dict.fromkeys(found))


def _cycle(waiting: Mapping[str, Link]) -> Invalid:
    """The error that names one cycle, in order."""
    path = [next(iter(waiting))]
    while path[-1] not in path[:-1]:
        path.append(next(parent for parent in waiting[path[-1]].parents if parent in waiting))
    cycle = path[path.index(path[-1]) :]
    return Invalid(
        "cascade_cycle",
        f"definitions feed each other in a circle: {' reads '.join(cycle)}",
        next="Let one of them read something else: a target cannot be kept equal to what is made of it.",
    )
