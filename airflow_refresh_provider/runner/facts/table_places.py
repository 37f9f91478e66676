"""The places of all definitions, which must not lie inside one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import in_one_scheme
from airflow_refresh_provider.core.definition.places import Place, Role, check_apart
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports


def check(ports: Ports, definition: Definition, others: Iterable[Definition] = ()) -> None:
    """Raise Refused when the definition has a place inside another one, or has another one inside.

    Its own places, the control root, and those of `others`.
    """
    foreign = [place for other in others for place in _places(ports, other)]
    if ports.control_root is not None:
        foreign.append(_place(ports, Role.CONTROL, "control root", ports.control_root))
    check_apart(_places(ports, definition), foreign)


def _places(ports: Ports, definition: Definition) -> Iterator[Place]:
    yield _place(ports, Role.TARGET, f"target of {definition.name}", definition.target)
    for name, read in definition.inputs.items():
        with suppress(Invalid):  # a variable of another definition that has no value here
            path = read.expanded(ports.environment).path
            yield Place(Role.INPUT, f"input {name} of {definition.name}", read.path, _resolved(ports, path))


def _place(ports: Ports, role: Role, label: str, location: str) -> Place:
    return Place(role, label, location, _resolved(ports, location))


def _resolved(ports: Ports, location: str) -> str:
    return in_one_scheme(ports.folders.resolved(location))
