"""What the ways to apply a chunk do to the rows of a table, on plain dicts."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import Chunk, PartitionValues, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.testing.memory_partitions import named
from airflow_refresh_provider.testing.memory_rows import Key, Keys, hashed, key_of
from airflow_refresh_provider.testing.memory_table import Change, Row, Rows, Version


def of_chunk(changes: Rows, chunk: Chunk, keys: Keys) -> Rows:
    """The part of a change set that one chunk covers."""
    ranged = chunk.keys
    return tuple(
        r
        for r in changes
        if r[VNODE] in chunk.by_vnode and (ranged is None or ranged.low <= hashed(key_of(r, keys)) <= ranged.high)
    )


def stored(row: Row, target: Target) -> Row:
    """A staged row as the target stores it."""
    return {c.name: row[c.name] for c in target.columns}


def applied(base: Version, compared: Rows, changes: Rows, chunk: Chunk, target: Target, keys: Keys) -> Change:
    """What the commit of a chunk does to the table as it is at `base`; `compared` are its rows when it was compared."""
    hidden = any(c.name == VNODE for c in target.columns)
    upserts = tuple(stored(r, target) for r in changes if r[OP] != "D")
    touched = {key_of(r, keys) for r in changes}
    match chunk.way:
        case Way.APPEND:
            return Change("WRITE", added=upserts)
        case Way.REPLACE_TABLE | Way.REWRITE:
            kept = tuple(r for r in compared if key_of(r, keys) not in touched)
            return Change("WRITE", (*kept, *upserts), tuple(base.files), reads=None)
        case Way.REPLACE_VNODES:
            kept = tuple(r for r in compared if r[VNODE] in chunk.by_vnode and key_of(r, keys) not in touched)
            gone = tuple(n for n, rows in base.files.items() if rows[0][VNODE] in chunk.by_vnode)
            return Change("WRITE", (*kept, *upserts), gone, reads=chunk.vnodes)
        case Way.REPLACE_PARTITIONS:
            return _replaced(base, upserts, chunk.partitions)
        case Way.MERGE | Way.SMALL_TABLE | Way.KEYED_REPLACE | Way.REPLACE_ON:
            reads = chunk.vnodes if hidden and chunk.way.names_vnodes else None
            return _keyed(base, changes, upserts, reads, keys, in_place=chunk.way in {Way.MERGE, Way.SMALL_TABLE})


def _keyed(
    base: Version, changes: Rows, upserts: Rows, reads: tuple[int, ...] | None, keys: Keys, *, in_place: bool
) -> Change:
    """Rows by key. In place, every row that matches is updated; else all that match go and one of each key comes."""
    touched = {key_of(r, keys) for r in changes}
    new = {key_of(r, keys): r for r in upserts}
    inside = {n: rows for n, rows in base.files.items() if reads is None or rows[0][VNODE] in reads}
    removed = tuple(n for n, rows in inside.items() if any(key_of(r, keys) in touched for r in rows))
    after: list[Row] = []
    matched: set[Key] = set()
    for row in (r for n in removed for r in inside[n]):
        key = key_of(row, keys)
        if key not in touched:
            after.append(row)
        elif in_place and key in new:
            after.append({**row, **new[key]})
            matched.add(key)
    after += [row for key, row in new.items() if key not in matched]
    return Change("MERGE" if in_place else "WRITE", tuple(after), removed, reads=reads)


def _replaced(base: Version, upserts: Rows, partitions: tuple[PartitionValues, ...]) -> Change:
    """What a commit does that overwrites these partitions with rows of theirs."""
    inside = {n: rows for n, rows in base.files.items() if any(_is_in(row, partitions) for row in rows)}
    kept = tuple(row for rows in inside.values() for row in rows if not _is_in(row, partitions))
    return Change("WRITE", (*kept, *upserts), tuple(inside), reads=None)


def _is_in(row: Row, partitions: Iterable[PartitionValues]) -> bool:
    return any(named({name: row[name] for name in one}) == one for one in partitions)
