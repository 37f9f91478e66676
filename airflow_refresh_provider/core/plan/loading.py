"""How a load is done: directly into an empty target, from rows staged in splits, or in one comparison.

A first load has nothing to compare with, so it may skip staging: the whole query as one commit when it is small
enough, else one commit per split of the input's files. A comparison reads the query directly, unless the one input
is so large that repeating the job after a crash would cost more than staging its rows first.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.choices import Chunking, Layout, Visibility
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS, REWRITE_TABLE_SHARE
from airflow_refresh_provider.core.plan.chunking import Limits, raised, split_files
from airflow_refresh_provider.core.plan.plan import MAX_SLOTS, Split
from airflow_refresh_provider.core.text.stored import Stored

STAGE_ROWS_BEYOND = 20
"""Rows are staged in splits when an input has more than this many times the rows of one commit."""

_DIRECT = 4
"""A first load only appends: it writes about this many rows in the time in which a merge applies one."""

_ROWS_OF_FILE = 100_000
"""A file with fewer rows is small: to open it takes longer than to read it."""

Files = tuple[tuple[str, int], ...]


class Splittable(Stored):
    """The one input of a row-wise query: its plain files and about how many rows it has."""

    files: Files
    rows: int


def limits(definition: Definition) -> Limits:
    """Rows per commit, rows per chunk, and units that may run in parallel."""
    chunking, whole = definition.chunking, definition.visibility is Visibility.WHOLE
    return Limits(
        one_commit=chunking.one_commit_up_to if whole else chunking.chunk_rows,
        chunk_rows=chunking.chunk_rows,
        units=MAX_SLOTS if definition.layout is Layout.VNODE else 1,
    )


def direct_splits(
    rows: int, chunking: Chunking, visibility: Visibility, input: Splittable | None, partitions: int = 0
) -> tuple[Split | None, ...] | None:
    """The commits of a first load directly from the query: (None,) is the whole query in one; None: not possible.

    Neither is it where a split would write small files: it has rows of any of the target's `partitions`.
    """
    if rows == 0:
        return ()
    whole = visibility is Visibility.WHOLE
    if rows <= (_DIRECT * chunking.one_commit_up_to if whole else chunking.chunk_rows):
        return (None,)
    if input is None or len(input.files) < 2:
        return None
    chunk_rows = raised(chunking.chunk_rows, rows)
    if chunk_rows < _ROWS_OF_FILE * partitions:
        return None
    return split_files(input.files, -(-rows // chunk_rows))


def rewrite_min_rows(rows: int | None, allowed: Limits) -> int | None:
    """The least number of changed rows at which a table of `rows` rows is overwritten with its query; None = never.

    A large table is not: after a crash the whole commit would have to be repeated.
    """
    if not rows or rows > STAGE_ROWS_BEYOND * allowed.one_commit:
        return None
    return max(LITERAL_KEYS + 1, round(REWRITE_TABLE_SHARE * rows))


def row_splits(allowed: Limits, input: Splittable | None) -> tuple[Split, ...]:
    """The splits in which rows are staged before the comparison; none when the query is compared directly."""
    if input is None or len(input.files) < 2 or input.rows <= STAGE_ROWS_BEYOND * allowed.one_commit:
        return ()
    return split_files(input.files, -(-input.rows // raised(allowed.one_commit, input.rows)))
