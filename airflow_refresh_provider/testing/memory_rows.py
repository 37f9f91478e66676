"""What a comparison does with rows, on plain dicts.

A staged row has the target's visible columns, its vnode, its row hash and what is to happen to it. A stored row has
exactly the columns of the target; in layout vnode its hash is believed as it stands, as the engine does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, RESERVED, ROW_HASH, VNODE, visible
from airflow_refresh_provider.core.plan.placing import partition_columns, parts_of_partition
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.tasks import KeyReport
from airflow_refresh_provider.testing.memory_table import Row, Rows

WAS = "_was"
"""In a staged row: the row as the target had it, for samples."""

_EXAMPLES = 3

Keys = tuple[str, ...]
Key = tuple[object, ...]


def hashed(values: object) -> int:
    """A 64-bit signed hash that is the same in every process."""
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), "big", signed=True)


def key_of(row: Mapping[str, object], keys: Keys) -> Key:
    """The values that identify a row."""
    return tuple(row[k] for k in keys)


def vnode_of(row: Mapping[str, object], keys: Keys, vnodes: int) -> int:
    """The vnode of a row."""
    return hashed(key_of(row, keys)) % vnodes


def shown(row: Mapping[str, object]) -> Row:
    """The row as its reader sees it."""
    return {name: value for name, value in row.items() if name not in RESERVED and name != WAS}


def with_hashes(row: Mapping[str, object], target: Target, keys: Keys) -> Row:
    """The row with the target's visible columns, its vnode and its hash."""
    values = {c.name: row.get(c.name) for c in visible(target.columns)}
    return {**values, VNODE: _placed(values, target, keys), ROW_HASH: hashed(sorted(values.items()))}


def _placed(row: Row, target: Target, keys: Keys) -> int:
    """The vnode of a row; by its partition in a partitioned target of layout plain."""
    parts = parts_of_partition(target)
    if parts is None:
        return vnode_of(row, keys, target.vnodes)
    first = vnode_of(row, partition_columns(target), target.vnodes)
    return (first + vnode_of(row, keys, parts) * (target.vnodes // parts)) % target.vnodes


def key_report(rows: Rows, keys: Keys, partition_by: Keys = ()) -> KeyReport:
    """NULL keys and duplicate keys, with examples, and how many partitions the rows are for."""
    null = [r for r in rows if None in key_of(r, keys)]
    counts = Counter(key_of(r, keys) for r in rows if None not in key_of(r, keys))
    twice = [key for key, n in counts.items() if n > 1]
    return KeyReport(
        rows=len(rows),
        null_keys=len(null),
        duplicate_keys=len(twice),
        partitions=len({key_of(r, partition_by) for r in rows}) if partition_by else 0,
        null_examples=tuple(named(key_of(r, keys), keys) for r in null[:_EXAMPLES]),
        duplicate_examples=tuple(named(key, keys) for key in twice[:_EXAMPLES]),
    )


def left_over(went: Rows, came: Rows) -> tuple[Rows, Rows]:
    """Both without the rows that went and came again."""
    rows = {repr(row): row for row in (*went, *came)}
    net = Counter(map(repr, came))
    net.subtract(map(repr, went))
    old = tuple(rows[text] for text, count in net.items() for _ in range(-count))
    return old, tuple(rows[text] for text, count in net.items() for _ in range(count))


def differences(desired: Rows, found: Rows, keys: Keys, *, deletes: bool, sound: bool = False) -> Rows:
    """The staged change set that makes `found` equal to `desired`.

    Raises Failed when a key is in `found` twice, unless its keys are known to be unique (`sound`).
    """
    old = {key_of(r, keys): r for r in found}
    if len(old) < len(found) and not sound:
        raise Failed(
            "duplicate_target_key",
            "a key occurs more than once in the target: another writer has inserted rows",
            left="The target was not changed.",
            next="Remove the repeated rows from the target, then run again.",
        )
    wanted = {key_of(r, keys) for r in desired}
    changes = [{**r, OP: "I", WAS: None} for r in desired if key_of(r, keys) not in old]
    changes += [
        {**r, OP: "U", WAS: shown(was)}
        for r in desired
        if (was := old.get(key_of(r, keys))) is not None and was[ROW_HASH] != r[ROW_HASH]
    ]
    changes += [{**r, OP: "D", WAS: shown(r)} for r in found if deletes and key_of(r, keys) not in wanted]
    return tuple(changes)


def is_near(change: Row, inexact: tuple[str, ...], tolerance: float) -> bool:
    """Whether an update differs from the row that it replaces in these columns only, and within the tolerance."""
    was = change[WAS]
    if change[OP] != "U" or not inexact:
        return False
    return all(
        near(value, was[name], tolerance) if name in inexact else value == was[name]
        for name, value in shown(change).items()
    )


def near(one: object, other: object, tolerance: float) -> bool:
    """As Spark compares: NaN is near NaN only, and numbers of different signs are not near each other."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(near(v, other[k], tolerance) for k, v in one.items())
        case list(), list():
            return len(one) == len(other) and all(near(v, w, tolerance) for v, w in zip(one, other, strict=True))
        case float(), float():
            both_nan = math.isnan(one) and math.isnan(other)
            return both_nan or one == other or _close(one, other, tolerance)
        case _:
            return one == other


def _close(one: float, other: float, tolerance: float) -> bool:
    return math.copysign(1, one) == math.copysign(1, other) and abs(one - other) <= tolerance * min(
        abs(one), abs(other)
    )


def counts_of(changes: Rows) -> dict[int, ChangeCounts]:
    """Rows of a change set by vnode."""
    counts: dict[int, ChangeCounts] = {}
    one = {"I": ChangeCounts(inserted=1), "U": ChangeCounts(updated=1), "D": ChangeCounts(deleted=1)}
    for row in changes:
        counts[row[VNODE]] = counts.get(row[VNODE], ChangeCounts()) + one[row[OP]]
    return counts


def named(key: Key, keys: Keys) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(keys, key, strict=True))


def newest_changes(old: Rows, new: Rows, found: Rows, keys: Keys, newest_by: str) -> Rows:
    """The newest of the rows that came, where it is newer than the target's; in doubt where a row of its key went."""
    there = {key_of(r, keys): r for r in found}
    went = {key_of(r, keys) for r in old}
    doubtful = [{**r, OP: DOUBTFUL, WAS: None} for r in (*old, *new) if key_of(r, keys) in went]
    changes = []
    for row in newest_of(new, keys, newest_by):
        was = there.get(key_of(row, keys))
        if was is None or (was[ROW_HASH] != row[ROW_HASH] and was[newest_by] <= row[newest_by]):
            changes.append({**row, OP: "U" if was else "I", WAS: shown(was) if was else None})
    return tuple(doubtful or changes)


def newest_of(rows: Iterable[Row], keys: Keys, newest_by: str) -> Rows:
    """Of the rows of each key the one whose `newest_by` is greatest."""
    newest: dict[Key, Row] = {}
    for row in sorted(rows, key=lambda r: r[newest_by]):
        newest[key_of(row, keys)] = row
    return tuple(newest.values())
