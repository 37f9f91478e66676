"""What a definition chooses between: layout, visibility, deletes, duplicates, changes of columns, sizes of chunks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from airflow_refresh_provider.core.definition.names import SomeColumnNames
from airflow_refresh_provider.core.text.stored import Stored


class Layout(StrEnum):
    """How a target is laid out."""

    PLAIN = "plain"
    VNODE = "vnode"


class Visibility(StrEnum):
    """What readers of the target see while it is refreshed."""

    WHOLE = "whole"
    LIVE = "live"


class Deletes(StrEnum):
    """What happens to rows that are no longer in the query's result."""

    APPLY = "apply"
    IGNORE = "ignore"


class OnDuplicate(StrEnum):
    """What happens when a key occurs more than once in the query's result."""

    ERROR = "error"
    LATEST = "latest"


class OnAdded(StrEnum):
    """What happens when the query's result has a new column."""

    ADD = "add"
    REFUSE = "refuse"


class OnDropped(StrEnum):
    """What happens when the target has a column that the query's result does not have any more."""

    KEEP = "keep"
    DROP = "drop"
    REFUSE = "refuse"


class OnRetyped(StrEnum):
    """What happens when a column of the query's result has another type than in the target."""

    WIDEN = "widen"
    REFUSE = "refuse"


class OnSchemaChange(Stored):
    """What a refresh does when the columns of the query's result are no longer those of the target."""

    added: OnAdded = Field(
        default=OnAdded.ADD, description="A new column or nested field: `add` it to the target, or `refuse`."
    )
    dropped: OnDropped = Field(
        default=OnDropped.REFUSE,
        description="A column gone from the result: `keep` it in the target as it is (NULL in new rows), `drop` it "
        "from the target, which needs column mapping, or `refuse`.",
    )
    retyped: OnRetyped = Field(
        default=OnRetyped.REFUSE,
        description="A column of another type: `widen` takes the wider of both types (`int` and `bigint`, `date` and "
        "`timestamp_ntz`, decimals), where Delta widens without rewriting; or `refuse`.",
    )


Count = Annotated[int, Field(strict=True, ge=1)]


class Chunking(Stored):
    """How large commits are, in changed rows."""

    one_commit_up_to: Count = Field(
        default=5_000_000,
        description="Up to this many changed rows are one commit, if visibility is `whole`; "
        "of the rows that fill an empty table four times as many.",
    )
    chunk_rows: Count = Field(
        default=1_000_000,
        description="About how many changed rows a chunk has otherwise; at least a 200th of the rows to write. "
        "A first load that takes its input file by file has no chunk smaller than a file.",
    )


class ColumnChoice(Stored):
    """Which columns of the one input are taken: the named ones, or all but the named ones."""

    include: SomeColumnNames | None = Field(default=None, description="Only these columns, in this order.")
    exclude: SomeColumnNames | None = Field(default=None, description="All columns but these.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.include is None) == (self.exclude is None):
            raise ValueError("must have either include or exclude")
        return self
