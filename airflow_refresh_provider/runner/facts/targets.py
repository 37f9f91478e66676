"""Making a target ready: checked against its owner and layout, created or extended, and identified.

All statements here are repeatable, and additive unless `on_schema_change` says otherwise; the target exists with all
its properties before the first chunk, so that it can be fenced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_refresh_provider.core.definition.choices import Layout
from airflow_refresh_provider.core.definition.columns import (
    HIDDEN,
    ROW_HASH,
    VNODE,
    Column,
    Columns,
    check_partitions,
    check_result,
)
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.evolution import Evolution, evolution
from airflow_refresh_provider.core.definition.own_columns import check_own_columns
from airflow_refresh_provider.core.definition.schema_change import schema_change
from airflow_refresh_provider.core.log.commits import last_equal
from airflow_refresh_provider.core.log.marker import Marker, app_ids
from airflow_refresh_provider.core.plan.chunking import auto_vnodes
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.run.ownership import (
    CONTROL,
    DEFINITION,
    VNODES,
    check_layout,
    check_no_reserved,
    check_ownership,
    hidden_columns,
    wanted_properties,
)
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap, TableFacts, TableIdentity
from airflow_refresh_provider.ports.tasks import TargetSpec
from airflow_refresh_provider.runner.facts import other_writers


@dataclass(frozen=True)
class Ready:
    """A target ready for a run, and its newest version and rows (None = unknown)."""

    target: Target
    version: int
    rows: int | None


def check(ports: Ports, definition: Definition, facts: TableFacts | None) -> None:
    """Refuse a target that is not this definition's, or laid out otherwise. Raises Refused."""
    if facts is None:
        return
    check_ownership(definition, _claims(ports, facts), ports.store.control_id)
    check_layout(definition, facts.properties, facts.partitioned_by)


def check_fits(ports: Ports, definition: Definition, result: tuple[str, ...] | None) -> None:
    """Refuse a definition that the target which it has, or adopts, cannot follow. Raises Refused.

    `result` are the names of the result's columns, where the query says them.
    """
    facts = ports.log.facts(definition.target)
    if facts is None or not (definition.adopt or _claims(ports, facts).get(DEFINITION) == definition.name):
        return
    check_layout(definition, facts.properties, facts.partitioned_by)
    if result is not None:
        check_own_columns(facts.own, result, definition.keys, definition.target)


def owner(ports: Ports, facts: TableIdentity) -> Record | None:
    """The definition of this control root whose target a table is, or is until its unfinished run ends.

    The name in the properties is not enough: it stays in a table whose definition was dropped or given another target,
    and in every copy of it. One table may have several paths, so tables at another path are compared by id.
    """
    if not ports.store.exists or facts.properties.get(CONTROL) != ports.store.control_id:
        return None
    record = ports.store.read(facts.properties.get(DEFINITION, "")).record
    if record is None or record.dropped:
        return None
    places = {record.definition.target, record.run.definition.target if record.run else record.definition.target}
    mine = facts.location in places or any(_table_id(ports, place) == facts.table_id for place in places)
    return record if mine else None


def _claims(ports: Ports, facts: TableFacts) -> Mapping[str, str]:
    """The table's properties; none when they name a definition whose target it no longer is."""
    outdated = facts.properties.get(CONTROL) == ports.store.control_id and owner(ports, facts) is None
    return {} if outdated else facts.properties


def highest_generation(ports: Ports, facts: TableIdentity) -> int:
    """The highest generation that a target has seen, 0 for none; other writers have markers of their own in it."""
    found, ours = ports.log.markers(facts.location), app_ids(facts.table_id)
    return max((Marker.of(found[app_id]).generation for app_id in ours if app_id in found), default=0)


def next_generation(ports: Ports, record: Record) -> int:
    """Above that of the record and those in its target: control tables may have been restored from a backup."""
    location = record.run.definition.target if record.run else record.definition.target
    found = ports.log.identity(location)
    seen = highest_generation(ports, found) if found else 0
    return 1 + max(record.generation, seen)


def make_ready(
    ports: Ports, session: EngineSession, run: Run, result: Columns, found: TableFacts | None, rows: int
) -> Ready:
    """Create the target, or bring columns and properties of the one found up to the definition.

    `rows` is about what it will hold.
    """
    definition = run.definition
    check_result(result, definition.keys)
    check(ports, definition, found)
    planned = run.plan.target
    vnodes = planned.vnodes if planned else _vnodes(definition, found, rows)
    check_partitions(result, found.partitioned_by if found else definition.partition_by)
    properties = wanted_properties(definition, ports.store.control_id, vnodes, created=found is None)
    evolved = evolution_of(definition, found, result) if found else Evolution()
    if found is not None and not evolved and properties.items() <= found.properties.items():
        return _ready(found, vnodes, result)
    if evolved:
        session.evolve(definition.target, evolved)
    session.prepare(_spec(definition, result, properties))
    # When two definitions prepare one table at the same time, the one that wrote its name last owns it.
    facts = ports.log.facts(definition.target)
    check(ports, definition, facts)
    return _there(facts, definition.target, vnodes, result)


def evolution_of(definition: Definition, found: TableFacts, result: Columns) -> Evolution:
    """What has to be done to the columns of a target before it can hold the result. Raises Refused."""
    check_no_reserved((c.name for c in found.types), found.properties, found.location)
    check_own_columns(found.own, (c.name for c in result), definition.keys, found.location)
    return evolution(definition, schema_change(found.types, result), found.own, found.partitioned_by)


def read(ports: Ports, location: str, vnodes: int, result: Columns) -> Ready:
    """The target as it is now; its columns that are not in the result are kept. Raises Failed when it is not there."""
    return _there(ports.log.facts(location), location, vnodes, result)


def _there(facts: TableFacts | None, location: str, vnodes: int, result: Columns) -> Ready:
    if facts is None:
        raise Failed(
            "target_missing",
            f"the target {location} is not there",
            left="Nothing was changed.",
            next="Check the location; a run creates the target when it is absent.",
        )
    return _ready(facts, vnodes, result)


def _ready(facts: TableFacts, vnodes: int, result: Columns) -> Ready:
    written = {c.name.lower() for c in result} | set(hidden_columns(facts.properties))
    target = Target(
        location=facts.location,
        table_id=facts.table_id,
        columns=tuple(c for c in facts.types if c.name.lower() in written),
        kept=tuple(c for c in facts.types if c.name.lower() not in written),
        vnodes=int(facts.properties.get(VNODES, vnodes)),
        deletion_vectors=facts.properties.get("delta.enableDeletionVectors", "false").lower() == "true",
        partition_by=facts.partitioned_by,
        partitions=facts.partitions,
        small=facts.small,
    )
    return Ready(target, facts.version, facts.rows)


def readable_version(ports: Ports, published: Published, location: str) -> int:
    """The version to read the published rows at: the newest that has exactly these.

    Spark refuses to read an old version once it is not the newest, and a seal or an OPTIMIZE is newer. The published
    version itself where others have written directly after it, or the log has been cleaned up.
    """
    try:
        since = ports.log.commits(location, after=published.version)
    except LogGap:
        return published.version
    return last_equal(since, published.target_id, published.version)


def replaced(ports: Ports, target: Target) -> bool:
    """Whether the target was deleted, or replaced by another table."""
    return _table_id(ports, target.location) != target.table_id


def check_in_place(ports: Ports, target: Target) -> None:
    """Refuse to go on with a target that was replaced: Spark would write to another table there, or create one."""
    if replaced(ports, target):
        raise not_in_place(target)


def not_in_place(target: Target) -> Failed:
    """The error when another table is in the target's place, or none."""
    return Failed(
        "target_replaced",
        f"the target {target.location} is no longer the table with which this run started",
        left="Nothing was published; the table that is there now has at most the commit that was in progress.",
        next="Run again: the interrupted run is abandoned and a new one compares everything.",
    )


def written_by_others(ports: Ports, published: Published | None, ready: Ready) -> bool:
    """Whether another writer than published refreshes may have written rows of a target."""
    return published is None or changed_reason(ports, published, ready.target, ready.version) is not None


def replaced_reason(ports: Ports, published: Published, location: str) -> str | None:
    """Why the table at a location is not the one that the last refresh wrote, for people; None when it is."""
    found = _table_id(ports, location)
    return None if found == published.target_id else _replaced(location, gone=found is None)


def changed_reason(
    ports: Ports, published: Published, target: Target | TableFacts, upto: int | None = None
) -> str | None:
    """Why a target may have other rows than the last refresh wrote, for people; None when it has exactly those."""
    location = target.location
    if target.table_id != published.target_id:
        return _replaced(location)
    try:
        found = other_writers.commits(ports, published, location, upto=upto)
    except LogGap:
        return f"the log of the target {location} no longer says who has written it since the last refresh"
    return other_writers.named(found, published, location) if found else None


def doubt_of(ports: Ports, published: Published | None, location: str, found: TableFacts | None) -> str | None:
    """Why the target that was found at a location may have other rows than the last refresh has published."""
    if found is None:
        return f"the target {location} does not exist"
    return changed_reason(ports, published, found) if published else None


def _table_id(ports: Ports, location: str) -> str | None:
    found = ports.log.identity(location)
    return found.table_id if found else None


def _replaced(location: str, *, gone: bool = False) -> str:
    return f"the target {location} is not {'there' if gone else 'the table that the last refresh wrote'}"


def _spec(definition: Definition, result: Columns, properties: dict[str, str]) -> TargetSpec:
    hidden = (Column(name=VNODE, type="int"), Column(name=ROW_HASH, type="bigint"))
    by_vnode = definition.layout is Layout.VNODE
    assert tuple(c.name for c in hidden) == HIDDEN
    return TargetSpec(
        location=definition.target,
        columns=(*result, *hidden) if by_vnode else result,
        partition_by=(VNODE,) if by_vnode else definition.partition_by,
        cluster_by=definition.cluster_by,
        properties=properties,
    )


def _vnodes(definition: Definition, found: TableFacts | None, rows: int) -> int:
    if found is not None and VNODES in found.properties:
        return int(found.properties[VNODES])
    if definition.vnodes != "auto":
        return definition.vnodes
    return auto_vnodes(max(rows, found.rows or 0 if found else 0), definition.chunking.chunk_rows)
