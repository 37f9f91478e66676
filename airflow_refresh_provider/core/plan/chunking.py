"""Cutting a change set into units and chunks.

Few commits beat many: a change set within `one_commit_up_to` is one chunk. Beyond it, neighbouring vnodes share a chunk
until it holds about `chunk_rows` changed rows, and a vnode far larger than that is cut by ranges of the key hash.
Vnodes without changes are not planned. A chunk costs a commit however small it is, so `chunk_rows` is raised where it
would make far more than MAX_CHUNKS of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airflow_refresh_provider.core.plan.plan import MAX_SLOTS, ChangeCounts, Chunk, HashRange, Split, Unit
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.text.stored import Stored

MAX_CHUNKS = 200
"""`chunk_rows` is at least this share of the rows to write: a commit takes about a second, whatever it holds."""

_HASHES = 1 << 64
_LOWEST = -(1 << 63)
_DIRECT_UNITS = 2
_OVERSIZE = 2  # a vnode this many times larger than a chunk is cut


class Limits(Stored):
    """Rows of a change set that is one commit, rows per chunk of a larger one, and units that may run in parallel."""

    one_commit: int
    chunk_rows: int
    units: int = 1


class Piece(Stored):
    """A chunk that has neither number nor way yet."""

    by_vnode: dict[int, ChangeCounts]
    keys: HashRange | None = None

    @property
    def vnodes(self) -> tuple[int, ...]:
        """The vnodes covered, in order."""
        return tuple(sorted(self.by_vnode))

    @property
    def counts(self) -> ChangeCounts:
        """Rows that change."""
        return sum(self.by_vnode.values(), ChangeCounts())


def auto_vnodes(rows: int, chunk_rows: int) -> int:
    """A power of two of vnodes, so that about two make a chunk of `chunk_rows`; between 1 and 1024."""
    wanted = max(1, -(-2 * rows // max(1, chunk_rows)))
    return min(1024, 1 << (wanted - 1).bit_length())


def raised(chunk_rows: int, rows: int) -> int:
    """`chunk_rows`, or the share of `rows` that it must not be below."""
    return max(chunk_rows, -(-rows // MAX_CHUNKS))


def cut(counts: Mapping[int, ChangeCounts], limits: Limits) -> tuple[Piece, ...]:
    """The pieces that cover every vnode with changes, in order of vnode. Empty when nothing changed."""
    changed = {v: c for v, c in sorted(counts.items()) if c.total}
    total = sum(c.total for c in changed.values())
    if not total:
        return ()
    if total <= limits.one_commit:
        return (_gather(changed.items()),)
    chunk_rows = raised(limits.chunk_rows, total)
    pieces: list[Piece] = []
    open_group: list[tuple[int, ChangeCounts]] = []
    for vnode, count in changed.items():
        if count.total > _OVERSIZE * chunk_rows:
            pieces += _close(open_group)
            open_group = []
            pieces += _cut_vnode(vnode, count, chunk_rows)
            continue
        if open_group and sum(c.total for _, c in open_group) + count.total > chunk_rows:
            pieces += _close(open_group)
            open_group = []
        open_group.append((vnode, count))
    return (*pieces, *_close(open_group))


def number(pieces: Iterable[Piece], ways: Iterable[Way], limits: Limits, after: Mapping[int, int]) -> tuple[Unit, ...]:
    """Distribute pieces over units, so that no vnode is in two units, and number chunks after `after[slot]`."""
    shares = _distribute(tuple(zip(pieces, ways, strict=True)), min(limits.units, MAX_SLOTS))
    return tuple(
        Unit(
            slot=slot,
            chunks=tuple(
                Chunk(number=after.get(slot, 0) + i, way=way, by_vnode=p.by_vnode, keys=p.keys)
                for i, (p, way) in enumerate(share, start=1)
            ),
        )
        for slot, share in enumerate(shares)
    )


def direct(splits: Sequence[Split | None]) -> tuple[Unit, ...]:
    """The units of a first load directly from the query into an empty target, in both layouts.

    Appends do not conflict, so two units load in parallel: one computes while the other commits. More units would only
    add fences.
    """
    units = min(_DIRECT_UNITS, -(-len(splits) // 2))
    return tuple(
        Unit(
            slot=slot,
            chunks=tuple(Chunk(number=i, way=Way.APPEND, split=s) for i, s in enumerate(splits[slot::units], start=1)),
        )
        for slot in range(units)
    )


def split_files(files: Iterable[tuple[str, int]], parts: int) -> tuple[Split, ...]:
    """Group files (path, size) in their order into at most `parts` splits of about the same size."""
    listed = sorted(files)
    share = max(1.0, sum(size for _, size in listed) / max(1, parts))
    groups: list[list[str]] = []
    filled = 0.0
    for path, size in listed:
        if not groups or (filled + size / 2 > share * len(groups) and len(groups) < parts):
            groups.append([])
        groups[-1].append(path)
        filled += size
    return tuple(Split(number=i, files=tuple(g)) for i, g in enumerate(groups, start=1))


def _distribute(pieces: tuple[tuple[Piece, Way], ...], units: int) -> list[list[tuple[Piece, Way]]]:
    """Largest vnode groups first, each to the unit with the fewest rows so far."""
    groups: dict[tuple[int, ...], list[tuple[Piece, Way]]] = {}
    for piece, way in pieces:
        groups.setdefault(piece.vnodes, []).append((piece, way))
    shares: list[list[tuple[Piece, Way]]] = [[] for _ in range(min(units, len(groups)))]
    rows = [0] * len(shares)
    for group in sorted(groups.values(), key=lambda g: -sum(p.counts.total for p, _ in g)):
        least = rows.index(min(rows))
        shares[least] += group
        rows[least] += sum(p.counts.total for p, _ in group)
    return [sorted(share, key=lambda pw: (pw[0].vnodes, pw[0].keys.low if pw[0].keys else 0)) for share in shares]


def _gather(group: Iterable[tuple[int, ChangeCounts]]) -> Piece:
    return Piece(by_vnode=dict(group))


def _close(group: list[tuple[int, ChangeCounts]]) -> list[Piece]:
    return [_gather(group)] if group else []


def _cut_vnode(vnode: int, count: ChangeCounts, chunk_rows: int) -> list[Piece]:
    """Equal ranges of the key hash; their counts are shares, exact in sum."""
    parts = -(-count.total // chunk_rows)
    edges = [_LOWEST + _HASHES * i // parts for i in range(parts + 1)]
    return [
        Piece(by_vnode={vnode: _share(count, i, parts)}, keys=HashRange(low=edges[i], high=edges[i + 1] - 1))
        for i in range(parts)
    ]


def _share(count: ChangeCounts, part: int, parts: int) -> ChangeCounts:
    def cut_of(n: int) -> int:
        return n * (part + 1) // parts - n * part // parts

    return ChangeCounts(inserted=cut_of(count.inserted), updated=cut_of(count.updated), deleted=cut_of(count.deleted))
