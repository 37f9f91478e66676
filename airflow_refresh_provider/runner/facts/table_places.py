"""The places of all definitions, which must not lie inside one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import in_one_scheme
from airflow_refresh_provider.core.definition.places import Place, Role, check_apart, places_of
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports


def check(ports: Ports, definition: Definition, others: Iterable[Definition] = ()) -> None:
    """Raise Refused when the definition has a place inside another one, or has another one inside.

    Its own places, the control root, and those of `others`.
    """
    foreign = [place for other in others for place in _places(ports, other)]
    if (root := ports.control_root) is not None:
        foreign.append(Place(Role.CONTROL, "control root", root, _resolved(ports, root)))
    check_apart(_places(ports, definition), foreign)


def _places(ports: Ports, definition: Definition) -> Iterator[Place]:
    inputs: dict[str, str] = {}
    for name, read in definition.inputs.items():
        with suppress(Invalid):  # a variable of another definition that has no value here
            inputs[name] = _resolved(ports, read.expanded(ports.environment).path)
    return places_of(definition, _resolved(ports, definition.target), inputs)


def _resolved(ports: Ports, location: str) -> str:
    return in_one_scheme(ports.folders.resolved(location))
