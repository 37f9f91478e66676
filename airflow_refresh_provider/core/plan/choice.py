"""Picking the cheapest way to apply a chunk.

Measured on 6 M rows: replaceOn costs half of a MERGE or less, up to 4.8 M changed rows. Naming up to a thousand keys
as literals costs a little less than replaceOn, and more with every further key. A table of a few thousand rows is
overwritten without Spark, which needs seconds of processor time for a commit of any size. When more than a fifth of
the rows change, overwriting the whole table is cheapest. A way that conflicts with every other commit (replaceOn,
whole table) is only chosen where chunks are applied one after the other anyway.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import INTEGERS, Columns
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.text.stored import Stored

FEW_KEYS = 1_000
LITERAL_KEYS = 10_000
LITERAL_BYTES = 200_000
UPSERT_ROWS = 5_000_000
REWRITE_TABLE_SHARE = 0.2
REWRITE_VNODES_SHARE = 0.5

_LITERAL_SAFE = INTEGERS | {"string", "date", "boolean"}
_STRING_BYTES = 64
_SCALAR_BYTES = 24


class ChunkFacts(Stored):
    """The inputs of the choice. `rows`: the target's rows in the vnodes of the chunk, at the base version."""

    counts: ChangeCounts
    empty: bool  # the whole target was empty when compared
    rows: int
    alone: bool  # layout plain: the only chunk of its round
    exact: bool  # compared with the target; the changes of an input alone do not show a key that occurs twice
    keeps_others: bool  # deletes are ignored: rows that other writers add stay
    vnode_layout: bool
    whole_vnodes: bool  # not a hash range of one
    deletion_vectors: bool
    keeps_columns: bool  # the target has columns that are not written: its rows have to be updated in place
    small: bool  # of the target; only where all changes are in plain files
    key_types: tuple[str, ...]


def choose(facts: ChunkFacts) -> Way:
    """The way to apply a chunk that has changes."""
    counts = facts.counts
    if facts.empty:
        return Way.APPEND
    if facts.keeps_columns:
        return Way.MERGE
    if facts.small and facts.alone and _LITERAL_SAFE.issuperset(facts.key_types):
        return Way.SMALL_TABLE
    if way := _overwrite(facts):
        return way
    if not facts.deletion_vectors:
        return Way.MERGE
    named = fits_literals(facts.key_types, counts.total)
    if named and counts.total <= FEW_KEYS:
        return Way.KEYED_REPLACE
    if not facts.vnode_layout and not counts.deleted and counts.total <= UPSERT_ROWS:
        return Way.REPLACE_ON
    return Way.KEYED_REPLACE if named else Way.MERGE


def _overwrite(facts: ChunkFacts) -> Way | None:
    """Overwriting whole vnodes, or the whole table, where so many rows change that this costs less.

    It would remove rows that other writers have added since the comparison, so it is not used where these are kept. The
    log does not say how many rows it has removed: where that has to show that a key occurs once, it is not used either.
    """
    total = facts.counts.total
    if facts.keeps_others or not facts.exact:
        return None
    if facts.vnode_layout:
        return Way.REPLACE_VNODES if facts.whole_vnodes and total >= REWRITE_VNODES_SHARE * facts.rows else None
    large = total >= REWRITE_TABLE_SHARE * facts.rows and total > LITERAL_KEYS
    return Way.REPLACE_TABLE if facts.alone and large else None


def fits_literals(key_types: tuple[str, ...], keys: int) -> bool:
    """Whether all keys fit into a predicate as literals: types with an exact text form, and not too much text."""
    if keys > LITERAL_KEYS or not all(t in _LITERAL_SAFE for t in key_types):
        return False
    width = sum(_STRING_BYTES if t == "string" else _SCALAR_BYTES for t in key_types)
    return keys * width <= LITERAL_BYTES or (len(key_types) == 1 and key_types[0] in INTEGERS)


def key_types(columns: Columns, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The types of the key columns in key order."""
    types = {c.name.lower(): c.type for c in columns}
    return tuple(types[k.lower()] for k in keys)
