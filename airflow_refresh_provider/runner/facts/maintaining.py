"""How the result of a registered query follows its inputs, analysed with the columns that these have now."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advised import Advice
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import hidden_values


def maintenance_of(ports: Ports, definition: Definition, pins: VersionVector) -> Maintenance:
    """The analysis of the definition's query over its inputs as they are pinned."""
    return _analysed(definition.model_dump_json(), json.dumps(columns_of(ports, pins)))


def advised_maintenance(
    ports: Ports, definition: Definition, pins: VersionVector
) -> tuple[Maintenance, tuple[Advice, ...]]:
    """As `maintenance_of`, and what a change of the query would win."""
    return advised(definition.model_dump_json(), json.dumps(columns_of(ports, pins)))


@lru_cache(maxsize=128)
def _analysed(definition: str, columns: str) -> Maintenance:
    """The analysis as it follows from two texts of JSON and from nothing else.

    It is remembered, as advice is: an open page asks for both every few seconds, and advice is made by many analyses.
    """
    # The SQL parser takes a third of a second to import, which row-wise queries need not pay.
    from airflow_refresh_provider.core.maintain.analysis import maintenance_of

    return maintenance_of(Definition.model_validate_json(definition), json.loads(columns))


@lru_cache(maxsize=128)
def advised(definition: str, columns: str) -> tuple[Maintenance, tuple[Advice, ...]]:
    """The analysis, and advice."""
    from airflow_refresh_provider.core.maintain.advice import advice

    found = _analysed(definition, columns)
    return found, advice(Definition.model_validate_json(definition), json.loads(columns), found)


def unfollowed_reason(found: Maintenance, definition: Definition, changed: Iterable[str]) -> str | None:
    """Why changes of these inputs cannot be followed; None when they can."""
    for name in changed:
        if obstacle := found.unfollowed.get(name):
            return str(obstacle)
    keys = {key.lower() for key in definition.keys}
    if definition.latest_by is not None and not set(found.anchors) <= keys:
        return "on_duplicate: latest needs rows to be found by their keys"
    return None


def columns_of(ports: Ports, pins: VersionVector) -> dict[str, dict[str, str]]:
    """Input -> column -> its Spark type, as they are pinned."""
    found = {}
    for name, pin in pins.items():
        with hidden_values.of_pin(ports.environment, pin):
            found[name] = ports.inputs[pin.format].columns(pin)
    return found
