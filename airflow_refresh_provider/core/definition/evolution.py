"""What a refresh does to the columns of its target before it loads: decided by `on_schema_change`."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.definition.choices import Layout, OnAdded, OnDropped, OnRetyped
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.own_columns import OwnColumn, filled
from airflow_refresh_provider.core.definition.schema_change import Difference, FieldChange, SchemaChange
from airflow_refresh_provider.core.definition.widening import widens
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Refused


class Evolution(Stored):
    """The columns and fields of a target to add, to give a wider type, and to drop."""

    added: SchemaChange = ()
    widened: SchemaChange = ()
    dropped: SchemaChange = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.added or self.widened or self.dropped)


def evolution(
    definition: Definition, change: SchemaChange, own: Iterable[OwnColumn], partition_by: tuple[str, ...]
) -> Evolution:
    """What to do so that the target can hold the result. Raises Refused with every column that does not fit.

    Columns that the table fills itself, and those of `dropped: keep`, stay as they are.
    """
    added = _of(change, Difference.ADDED)
    mine = filled(own)
    dropped = tuple(c for c in _of(change, Difference.DROPPED) if c.nested or c.name.lower() not in mine)
    retyped = _of(change, Difference.RETYPED)
    refused = {
        **_refused_dropped(definition, dropped, partition_by),
        **_refused_retyped(definition, retyped),
        **_refused_added(definition, added),
    }
    if refused:
        raise _unfit(definition.target, refused)
    return Evolution(
        added=added,
        widened=tuple(c for c in retyped if c.was and widens(c.was, c.type)),
        dropped=dropped if definition.on_schema_change.dropped is OnDropped.DROP else (),
    )


def check_settled(evolved: Evolution, target: str) -> None:
    """Refuse to compare a target whose columns the next refresh changes first. Raises Refused."""
    changes = [
        f"{verb} {c.name} ({c.type})"
        for verb, some in (("add", evolved.added), ("widen", evolved.widened), ("drop", evolved.dropped))
        for c in some
    ]
    if changes:
        raise Refused(
            "schema_change",
            f"the target {target} does not have the columns of the result yet: the next refresh will first "
            f"{', '.join(changes)}",
            next="Refresh, then compare.",
        )


def _of(change: SchemaChange, difference: Difference) -> SchemaChange:
    return tuple(c for c in change if c.difference is difference)


_Refused = dict[str, str | None]
"""Why a column does not fit -> the setting that would allow it, None when there is no such setting."""


def _refused_dropped(definition: Definition, dropped: SchemaChange, partition_by: tuple[str, ...]) -> _Refused:
    rule = definition.on_schema_change.dropped
    parted = {name.lower() for name in partition_by}
    found: _Refused = {}
    for column in dropped:
        gone = f"{_named(column)} ({column.type}) is in the target and no longer in the result"
        if rule is OnDropped.REFUSE:
            found[gone] = "`dropped: drop`" if column.nested else "`dropped: keep` or `dropped: drop`"
        elif rule is OnDropped.KEEP and column.nested:
            found[f"{gone}, and a field inside of a column cannot be kept"] = "`dropped: drop`"
        elif rule is OnDropped.DROP and column.name.lower() in parted:
            found[f"{gone}, and the target is partitioned by it"] = "`dropped: keep`"
    return found


def _refused_retyped(definition: Definition, retyped: SchemaChange) -> _Refused:
    found: _Refused = {}
    for column in retyped:
        was, why = column.was or "", f"{_named(column)} was {column.was} and would become {column.type}"
        wider = widens(was, column.type)
        if not (wider or widens(column.type, was)):
            found[why] = None
        elif definition.on_schema_change.retyped is not OnRetyped.WIDEN:
            found[why] = "`retyped: widen`"
        elif wider and definition.layout is Layout.VNODE and _is_key(column, definition):
            found[f"{why}, and rows are hashed into vnodes by this key in its type"] = None
    return found


def _refused_added(definition: Definition, added: SchemaChange) -> _Refused:
    if definition.on_schema_change.added is OnAdded.ADD:
        return {}
    return {f"{_named(c)} ({c.type}) is new in the result": "`added: add`" for c in added}


def _is_key(column: FieldChange, definition: Definition) -> bool:
    return column.path[0].lower() in {key.lower() for key in definition.keys}


def _named(column: FieldChange) -> str:
    return f"{'field' if column.nested else 'column'} {column.name}"


def _unfit(target: str, refused: _Refused) -> Refused:
    settings = dict.fromkeys(setting for setting in refused.values() if setting)
    allow = f", or allow it: {', '.join(settings)} (in `on_schema_change`)" if settings else ""
    return Refused(
        "schema_change",
        f"the result no longer fits the target {target}: {'; '.join(refused)}",
        next=f"Change the query so that it gives the target's columns (CAST, AS){allow}.",
    )
