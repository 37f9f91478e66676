"""The places of definitions as they are written: what can be said of them where links and variables are not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import in_one_scheme
from airflow_refresh_provider.core.definition.places import Place, Role, check_apart
from airflow_refresh_provider.core.text.variables import variables


def check_written(definition: Definition, others: Iterable[Definition]) -> None:
    """Raise Refused where a place of a definition lies inside another one of it, or of `others`, or is that one."""
    check_apart(_places(definition), (place for other in others for place in _places(other)))


def _places(definition: Definition) -> Iterator[Place]:
    yield _place(Role.TARGET, f"target of {definition.name}", definition.target)
    for name, read in definition.inputs.items():
        if not variables(read.path):
            yield _place(Role.INPUT, f"input {name} of {definition.name}", read.path)


def _place(role: Role, label: str, location: str) -> Place:
    return Place(role, label, location, in_one_scheme(location))
