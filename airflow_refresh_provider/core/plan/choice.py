"""Picking the cheapest way to apply a chunk.

Measured on 6 M rows: replaceOn costs less than half of a MERGE, naming up to a thousand keys as literals a little less
than that and more with every key, and past some ten percent of changed rows rewriting the whole table beats all. A
way that locks out other writers (replaceOn, whole table) is only taken where commits follow each other anyway.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.text.stored import Stored

FEW_KEYS = 1_000
LITERAL_KEYS = 10_000
LITERAL_BYTES = 200_000
UPSERT_ROWS = 1_000_000
REWRITE_TABLE_SHARE = 0.2
REWRITE_VNODES_SHARE = 0.5

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_LITERAL_SAFE = INTEGERS | {"string", "date", "boolean"}
_STRING_BYTES = 64
_SCALAR_BYTES = 24


class ChunkFacts(Stored):
    """What the choice depends on. `rows` are the target's rows within the chunk's vnodes at the base version."""

    counts: ChangeCounts
    empty: bool  # the whole target was empty when compared
    rows: int
    alone: bool  # layout plain: the only chunk of its round
    keeps_others: bool  # rows that are not in the result stay, also those of other writers
    vnode_layout: bool
    whole_vnodes: bool  # not a hash range of one
    deletion_vectors: bool
    key_types: tuple[str, ...]


def choose(facts: ChunkFacts) -> Way:
    """The way to apply a chunk that has changes."""
    counts = facts.counts
    if facts.empty:
        return Way.APPEND
    if way := _rewrite(facts):
        return way
    if not facts.deletion_vectors:
        return Way.MERGE
    named = fits_literals(facts.key_types, counts.total)
    if named and counts.total <= FEW_KEYS:
        return Way.KEYED_REPLACE
    if not facts.vnode_layout and not counts.deleted and counts.total <= UPSERT_ROWS:
        return Way.REPLACE_ON
    return Way.KEYED_REPLACE if named else Way.MERGE


def _rewrite(facts: ChunkFacts) -> Way | None:
    """Writing whole vnodes, or the whole table, where so much of it changes that this costs less.

    It would take rows that others have added since the comparison, so it is for targets that have no such rows.
    """
    total = facts.counts.total
    if facts.keeps_others:
        return None
    if facts.vnode_layout:
        return Way.REPLACE_VNODES if facts.whole_vnodes and total >= REWRITE_VNODES_SHARE * facts.rows else None
    much = total >= REWRITE_TABLE_SHARE * facts.rows and total > LITERAL_KEYS
    return Way.REPLACE_TABLE if facts.alone and much else None


def fits_literals(key_types: tuple[str, ...], keys: int) -> bool:
    """Whether all keys can stand in a commit's predicate: types that print exactly, and not too much text."""
    if keys > LITERAL_KEYS or not all(t in _LITERAL_SAFE for t in key_types):
        return False
    width = sum(_STRING_BYTES if t == "string" else _SCALAR_BYTES for t in key_types)
    return keys * width <= LITERAL_BYTES or (len(key_types) == 1 and key_types[0] in INTEGERS)


def key_types(columns: Columns, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The types of the key columns in key order."""
    types = {c.name.lower(): c.type for c in columns}
    return tuple(types[k.lower()] for k in keys)
