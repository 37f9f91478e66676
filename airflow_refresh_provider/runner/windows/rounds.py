"""Rounds: the chunks that a change set asks for, numbered after those of earlier rounds."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.choices import Deletes, Layout
from airflow_refresh_provider.core.plan import chunking, loading
from airflow_refresh_provider.core.plan.choice import ChunkFacts, choose, key_types
from airflow_refresh_provider.core.plan.plan import Frozen, Round
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.prepared import PreparedRun
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.ports.tasks import Comparison


def round_of(prepared: PreparedRun, base: int, compared: Comparison, vnodes: tuple[int, ...] | None = None) -> Round:
    """The chunks that a comparison, of all vnodes or of some, asks for; numbered after those of earlier rounds."""
    target, run = prepared.target, prepared.run
    definition = run.definition
    allowed = loading.limits(definition)
    if compared.rewrite:
        return _rewriting(run, base, compared, allowed)
    pieces = chunking.cut(compared.counts, allowed)
    rows_of_vnode = compared.target_rows / (target.vnodes if vnodes is None else max(1, len(vnodes)))
    by_vnode = definition.layout is Layout.VNODE
    ways = (
        choose(
            ChunkFacts(
                counts=piece.counts,
                empty=vnodes is None and compared.target_rows == 0,
                rows=round(rows_of_vnode * len(piece.vnodes)) if by_vnode else compared.target_rows,
                alone=len(pieces) == 1,
                exact=compared.exact,
                keeps_others=definition.deletes is Deletes.IGNORE,
                vnode_layout=by_vnode,
                whole_vnodes=piece.keys is None,
                deletion_vectors=target.deletion_vectors,
                keeps_columns=bool(target.kept),
                small=target.small and compared.changes.version is None,
                key_types=key_types(target.columns, definition.keys),
            )
        )
        for piece in pieces
    )
    return Round(
        base=base,
        changes=compared.changes,
        compared=compared.exact,
        units=chunking.number(pieces, tuple(ways), allowed, _last_chunks(run.frozen)),
    )


def one_chunk(run: Run) -> int:
    """How many changes are applied in one chunk. More than that are laid out by vnode, each chunk to find its own."""
    definition = run.definition
    if definition.layout is Layout.VNODE:
        return 0
    return loading.limits(definition).one_commit


def _rewriting(run: Run, base: int, compared: Comparison, allowed: chunking.Limits) -> Round:
    """One chunk that rewrites the whole table."""
    whole = allowed.model_copy(update={"one_commit": compared.total.total})
    pieces = chunking.cut(compared.counts, whole)
    units = chunking.number(pieces, (Way.REWRITE,), whole, _last_chunks(run.frozen))
    return Round(base=base, changes=compared.changes, units=units)


def _last_chunks(frozen: Frozen | None) -> dict[int, int]:
    """Slot -> highest chunk number planned so far."""
    last: dict[int, int] = {}
    for unit in (u for r in frozen.rounds for u in r.units) if frozen else ():
        last[unit.slot] = max(last.get(unit.slot, 0), *(c.number for c in unit.chunks))
    return last
