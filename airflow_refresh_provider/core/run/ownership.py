"""Which definition a target belongs to: the table properties that say so, and what they allow.

A target belongs to one definition of one control root. A table without these properties is taken
over only when the definition adopts it; the same holds for a table of another control root, for roots do get lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from airflow_refresh_provider.core.definition.choices import Layout
from airflow_refresh_provider.core.definition.columns import HIDDEN, RESERVED, VNODE
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import scheme_of
from airflow_refresh_provider.errors import Refused

CONTROL = "airflow_refresh.control"
DEFINITION = "airflow_refresh.definition"
LAYOUT = "airflow_refresh.layout"
VNODES = "airflow_refresh.vnodes"
KEYS = "airflow_refresh.keys"
HASH = "airflow_refresh.hash"
HASH_FUNCTION = "xxhash64"

_CHECKPOINT_INTERVAL = "20"
_READABLE_FOR = "interval 30 days"
"""Spark's readers refuse a version that is older than this and not the newest; a view names the one before."""

_UNSAFE_SCHEMES = frozenset({"s3", "s3a", "s3n"})


def layout_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of a table's properties that say how its rows are laid out."""
    return {name: properties[name] for name in (LAYOUT, VNODES, KEYS, HASH) if name in properties}


def wanted_properties(definition: Definition, control_id: str, vnodes: int, *, created: bool) -> dict[str, str]:
    """The table properties a target of this definition carries.

    An adopted table keeps its own deletion-vector setting unless the definition states one.
    """
    wanted = {CONTROL: control_id, DEFINITION: definition.name, LAYOUT: definition.layout.value}
    if definition.layout is Layout.VNODE:
        wanted |= {VNODES: str(vnodes), HASH: HASH_FUNCTION, KEYS: json.dumps(definition.keys)}
    if created:
        wanted["delta.checkpointInterval"] = _CHECKPOINT_INTERVAL
    if created and definition.view:
        wanted["delta.deletedFileRetentionDuration"] = _READABLE_FOR
    if definition.change_feed:
        wanted["delta.enableChangeDataFeed"] = "true"
    if created or "deletion_vectors" in definition.model_fields_set:
        wanted["delta.enableDeletionVectors"] = "true" if definition.deletion_vectors else "false"
    return wanted


def hidden_columns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a table has besides those of its query; only a target in layout vnode has some."""
    return HIDDEN if properties.get(LAYOUT) == Layout.VNODE.value and CONTROL in properties else ()


def check_no_reserved(columns: Iterable[str], properties: Mapping[str, str], target: str) -> None:
    """Refuse a target with a column of its user's that has a reserved name. Raises Refused."""
    own = hidden_columns(properties)
    if taken := [name for name in columns if name.lower() in RESERVED and name not in own]:
        raise Refused(
            "reserved_target_column",
            f"the target {target} has a column with the reserved name {taken[0]}",
            next=f"Rename it (ALTER TABLE ... RENAME COLUMN {taken[0]} TO ...), or name another target.",
        )


def check_storage(definition: Definition) -> None:
    """Refuse storage on which two Spark drivers can overwrite each other's commits. Raises Refused."""
    if scheme_of(definition.target) in _UNSAFE_SCHEMES and not definition.single_writer:
        raise Refused(
            "unsafe_storage",
            f"the target {definition.target} is on storage where commits of two Spark drivers are not atomic",
            next="Set `single_writer: true` if only one Spark driver ever writes this table, or use storage with "
            "atomic commits (Azure, Google Cloud Storage).",
        )


def check_ownership(definition: Definition, properties: Mapping[str, str], control_id: str) -> None:
    """Refuse a target that does not belong to this definition. Raises Refused."""
    mine = properties.get(CONTROL) == control_id and properties.get(DEFINITION) == definition.name
    if mine:
        return
    if properties.get(CONTROL) == control_id:
        raise Refused(
            "target_taken",
            f"the target {definition.target} belongs to the definition {properties.get(DEFINITION)}",
            next=f"Give {definition.name} another target, or drop {properties.get(DEFINITION)} first.",
        )
    if not definition.adopt:
        ours = CONTROL in properties
        whose = "belongs to another control root" if ours else "was not created by airflow-refresh"
        needed = "`adopt: true`"
        if definition.layout is Layout.VNODE and not ours:
            needed = f"{needed} and `layout: plain`, for it has no column {VNODE},"
        raise Refused(
            "foreign_target",
            f"the target {definition.target} exists and {whose}",
            next=f"Set {needed} to take it over as it is, or name another target. "
            f"`airflow-refresh run {definition.name} --compare-only` shows how it differs from the query.",
        )


def check_layout(definition: Definition, properties: Mapping[str, str], partitioned_by: tuple[str, ...]) -> None:
    """Refuse a target with another layout than the definition has, or that is append-only. Raises Refused."""
    if properties.get("delta.appendOnly", "").lower() == "true":
        raise Refused(
            "append_only",
            f"the target {definition.target} is append-only: no row of it may be updated or deleted",
            next="Unset the property `delta.appendOnly` of the table (ALTER TABLE ... UNSET TBLPROPERTIES), or name "
            "another target.",
        )
    has_vnodes = partitioned_by == ("_vnode",)
    if has_vnodes != (definition.layout is Layout.VNODE):
        raise Refused(
            "layout_changed",
            f"the target {definition.target} does not have the layout {definition.layout.value}",
            next="Keep the layout that the table has, or register a definition of another name with another target.",
        )
    kept = properties.get(VNODES)
    if has_vnodes and definition.vnodes != "auto" and str(definition.vnodes) != kept:
        raise Refused(
            "vnodes_changed",
            f"the target {definition.target} was created with {kept} vnodes, which cannot be changed; the definition "
            f"says {definition.vnodes}",
            next=f"Set `vnodes: {kept}` or `auto`, or register a definition of another name with another target.",
        )
    hashed = json.loads(properties.get(KEYS, "[]"))
    if has_vnodes and hashed and not _same_names(hashed, definition.keys):
        raise Refused(
            "keys_changed",
            f"the rows of the target {definition.target} are hashed into vnodes by the keys ({', '.join(hashed)}), "
            f"the definition says ({', '.join(definition.keys)})",
            next="Keep the keys and their order, or register a definition of another name with another target.",
        )
    if not has_vnodes and definition.partition_by and not _same_names(definition.partition_by, partitioned_by):
        raise Refused(
            "partitioning_changed",
            f"the target {definition.target} is partitioned by ({', '.join(partitioned_by)}), "
            f"the definition says ({', '.join(definition.partition_by)})",
            next="Leave `partition_by` out, or give the table's own; to partition otherwise, register a definition of "
            "another name with another target.",
        )


def _same_names(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether columns are the same in the same order; Spark takes them in any case."""
    return [name.lower() for name in some] == [name.lower() for name in others]
