"""Places that must not lie inside one another.

A table is written, cleaned up and deleted by its folder: whatever lies below is read with it, or deleted with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import in_one_scheme, scheme_of
from airflow_refresh_provider.core.text.variables import variables
from airflow_refresh_provider.errors import Refused


class Role(StrEnum):
    """What a place is to a definition."""

    TARGET = "target"
    INPUT = "input"
    CONTROL = "control root"


@dataclass(frozen=True)
class Place:
    """A place as a definition writes it, and `resolved`: where it is, links of a local disk followed, in one scheme.

    Where one has variables, only what is written is shown.
    """

    role: Role
    label: str
    location: str
    resolved: str

    def __str__(self) -> str:
        plain = self.location == self.resolved or variables(self.location)
        link = "" if plain else f", which is {self.resolved}"
        return f"{self.label} ({self.location}{link})"


def places_of(definition: Definition, target: str, inputs: Mapping[str, str]) -> Iterator[Place]:
    """The places of a definition: where its target is, and its inputs by name, as far as that is known."""
    yield Place(Role.TARGET, f"target of {definition.name}", definition.target, target)
    for name, resolved in inputs.items():
        yield Place(Role.INPUT, f"input {name} of {definition.name}", definition.inputs[name].path, resolved)


def check_written(definition: Definition, others: Iterable[Definition]) -> None:
    """Refuse it by what is written alone, where links and values of variables are not known. Raises Refused."""
    check_apart(_written(definition), (place for other in others for place in _written(other)))


def _written(definition: Definition) -> Iterator[Place]:
    inputs = {n: in_one_scheme(read.path) for n, read in definition.inputs.items() if not variables(read.path)}
    return places_of(definition, in_one_scheme(definition.target), inputs)


def check_apart(mine: Iterable[Place], others: Iterable[Place]) -> None:
    """Refuse a place of a definition that lies inside another one, its own ones included. Raises Refused."""
    own, foreign = tuple(mine), tuple(others)
    for one in own:
        for other in (place for place in own if place is not one):
            _check(one, other, same_allowed=Role.TARGET not in (one.role, other.role))
        for other in foreign:
            # The target of one definition may be an input of another.
            _check(one, other, same_allowed=one.role is not other.role or one.role is Role.INPUT)


def _check(one: Place, other: Place, *, same_allowed: bool) -> None:
    if one.resolved == other.resolved:
        if not same_allowed:
            raise _refused(one, "is the same place as", other)
        _check_schemes(one, other)
    elif _is_inside(one.resolved, other.resolved) and _harmful(inner=one.role, outer=other.role):
        raise _refused(one, "lies inside", other)
    elif _is_inside(other.resolved, one.resolved) and _harmful(inner=other.role, outer=one.role):
        raise _refused(one, "has inside it", other)


def _check_schemes(one: Place, other: Place) -> None:
    """A target that is read is found by its path as it is written."""
    schemes = {scheme_of(place.location) for place in (one, other) if not variables(place.location)}
    if len(schemes) > 1 and "" not in schemes and Role.TARGET in (one.role, other.role):
        raise Refused(
            "places_overlap",
            f"the {one} is the {other}, with another scheme",
            next=f"Write it with the scheme of the {other.label} in both definitions.",
        )


def _is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer.rstrip('/')}/")


def _harmful(*, inner: Role, outer: Role) -> bool:
    """Two inputs do each other no harm, and control tables may be read."""
    return Role.TARGET in (inner, outer) or (inner is Role.CONTROL and outer is Role.INPUT)


def _refused(one: Place, relation: str, other: Place) -> Refused:
    return Refused(
        "places_overlap",
        f"the {one} {relation} the {other}: what one writes or deletes, the other reads or loses",
        next=f"Give the {one.role.value} a folder of its own, beside the other one.",
    )
