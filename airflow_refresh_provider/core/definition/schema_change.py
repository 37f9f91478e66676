"""How the columns of a query's result differ from those of its target, down to the fields of nested types.

Names are compared without case, as Spark does, and the order of columns and fields does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from airflow_refresh_provider.core.definition.columns import Columns, visible
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.type_text import fields, opened, split, unquoted


class Difference(StrEnum):
    """How a column differs."""

    ADDED = "added"  # only in the result
    DROPPED = "dropped"  # only in the target
    RETYPED = "retyped"


class FieldChange(Stored):
    """A column, or a field inside of one, that differs.

    `path` leads to it from the column; `element`, `key` and `value` are the parts of arrays and maps, as in Delta's
    ALTER TABLE. `type` is that of the result, or of the target where the result has none; `was` is that of the target.
    """

    difference: Difference
    path: tuple[str, ...]
    type: str
    was: str | None = None

    @property
    def name(self) -> str:
        """The path for people."""
        return ".".join(self.path)

    @property
    def nested(self) -> bool:
        """Whether it is a field inside of a column."""
        return len(self.path) > 1


SchemaChange = tuple[FieldChange, ...]

_Fields = Iterable[tuple[str, str]]


def schema_change(target: Columns, result: Columns) -> SchemaChange:
    """What has to happen to `target` before it can hold `result`."""
    return tuple(_of_fields((), ((c.name, c.type) for c in visible(target)), ((c.name, c.type) for c in result)))


def _of_fields(path: tuple[str, ...], target: _Fields, result: _Fields) -> Iterator[FieldChange]:
    old = {name.lower(): (name, type_) for name, type_ in target}
    new = {name.lower(): (name, type_) for name, type_ in result}
    for key, (name, type_) in old.items():
        if key not in new:
            yield FieldChange(difference=Difference.DROPPED, path=(*path, name), type=type_)
        else:
            yield from _of_types((*path, name), type_, new[key][1])
    for key, (name, type_) in new.items():
        if key not in old:
            yield FieldChange(difference=Difference.ADDED, path=(*path, name), type=type_)


def _of_types(path: tuple[str, ...], old: str, new: str) -> Iterator[FieldChange]:
    (kind, was), (new_kind, becomes) = opened(old), opened(new)
    match kind if kind == new_kind else None:
        case "struct":
            yield from _of_fields(path, _named(was), _named(becomes))
        case "array":
            yield from _of_types((*path, "element"), was, becomes)
        case "map":
            for part, one, other in zip(("key", "value"), split(was, ","), split(becomes, ","), strict=True):
                yield from _of_types((*path, part), one, other)
        case None:
            yield FieldChange(difference=Difference.RETYPED, path=path, type=new, was=old)


def _named(inner: str) -> Iterator[tuple[str, str]]:
    return ((unquoted(name), type_) for name, type_ in fields(inner))
