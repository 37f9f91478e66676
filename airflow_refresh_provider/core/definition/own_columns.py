"""Columns for which a table has a rule of its own: it fills them by itself, or they must have a value.

A table that was adopted may have such columns. A refresh leaves those that are not in its query to the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Refused


class Fill(StrEnum):
    """What a table writes where a write leaves a column out."""

    GENERATED = "generated"  # the value of an expression over the other columns; a value given must equal it
    IDENTITY_ALWAYS = "identity_always"  # the next number; no value can be given
    IDENTITY = "identity"  # the next number, or a value given; never updated
    DEFAULT = "default"
    NULL = "null"

    @property
    def numbers(self) -> bool:
        """Whether the table numbers its rows by it."""
        return self in {Fill.IDENTITY_ALWAYS, Fill.IDENTITY}


class OwnColumn(Stored):
    """A column with a rule of its own. `required`: NOT NULL."""

    name: str
    fill: Fill = Fill.NULL
    required: bool = False


def check_own_columns(own: Iterable[OwnColumn], result: Iterable[str], keys: Iterable[str], target: str) -> None:
    """Refuse a result with columns that a table cannot be given, or without one that it needs. Raises Refused."""
    given, named = {name.lower() for name in result}, {name.lower() for name in keys}
    for column in own:
        name, in_result = column.name, column.name.lower() in given
        if in_result and (column.fill is Fill.IDENTITY_ALWAYS or (column.fill.numbers and name.lower() not in named)):
            raise _identity(column, target)
        if not in_result and column.required and column.fill is Fill.NULL:
            raise Refused(
                "required_column",
                f"the target {target} needs a value in its column {name} (NOT NULL), which the query does not give",
                next=f"Select a value AS {name} in the query, or make the column nullable: "
                f"`ALTER TABLE delta.`{target}` ALTER COLUMN {name} DROP NOT NULL` in Spark.",
            )


def filled(own: Iterable[OwnColumn]) -> frozenset[str]:
    """The names, in lower case, of the columns that a table fills with more than NULL."""
    return frozenset(column.name.lower() for column in own if column.fill is not Fill.NULL)


def _identity(column: OwnColumn, target: str) -> Refused:
    always = column.fill is Fill.IDENTITY_ALWAYS
    why = "takes no value from a query" if always else "is never updated, so that it can only be a key"
    return Refused(
        "identity_column",
        f"the target {target} numbers its rows by the column {column.name} (GENERATED "
        f"{'ALWAYS' if always else 'BY DEFAULT'} AS IDENTITY), which {why}",
        next=f"Leave {column.name} out of the query and take other keys: the table goes on numbering new rows. To "
        "write it from the query, name a target without an identity column.",
    )
