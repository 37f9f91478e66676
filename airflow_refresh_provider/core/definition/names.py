"""Names a user may give: definitions, inputs, columns, views. Each type checks itself wherever it is a field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from airflow_refresh_provider.core.definition.columns import RESERVED

NAME = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$"
_LONGEST_NAME = 120
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"
VIEW = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}$"


def is_definition_name(text: str) -> bool:
    """Whether a definition can be called so."""
    return len(text) <= _LONGEST_NAME and re.fullmatch(NAME, text) is not None


def similar(name: str, others: Iterable[str]) -> tuple[str, ...]:
    """The other names that read the same: they differ only in `.`, `_` or a last s."""
    return tuple(other for other in others if other != name and _spoken(other) == _spoken(name))


def _spoken(name: str) -> str:
    return name.replace(".", "").replace("_", "").removesuffix("s")


def repeated(names: Iterable[str]) -> tuple[str, ...]:
    """The names that occur more than once when case is ignored, as written the second time."""
    seen: set[str] = set()
    again: list[str] = []
    for name in names:
        if name.lower() in seen:
            again.append(name)
        seen.add(name.lower())
    return tuple(again)


def backticked(name: str) -> str:
    """A name as Spark SQL takes it whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def _column(name: str) -> str:
    if not name.strip():
        raise ValueError("must not be blank: write the name of a column")
    if name.lower() in RESERVED:
        raise ValueError("is a reserved name: give the column another name in the query (AS ...)")
    return name


def _input(name: str) -> str:
    if name.lower() in RESERVED:
        raise ValueError("is a reserved name: give the input another one")
    return name


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if again := repeated(names):
        raise ValueError(f"names {', '.join(again)} more than once (case-insensitive): keep one")
    return names


DefinitionName = Annotated[str, Field(pattern=NAME, max_length=_LONGEST_NAME)]
InputName = Annotated[str, Field(pattern=IDENTIFIER), AfterValidator(_input)]
ViewName = Annotated[str, Field(pattern=VIEW)]
ColumnName = Annotated[str, AfterValidator(_column)]
ColumnNames = Annotated[tuple[ColumnName, ...], AfterValidator(_distinct)]
SomeColumnNames = Annotated[tuple[ColumnName, ...], Field(min_length=1), AfterValidator(_distinct)]
ClusterColumnNames = Annotated[tuple[ColumnName, ...], Field(max_length=4), AfterValidator(_distinct)]
"""Delta clusters by at most four columns."""
