"""The notices of a run, derived from its definition and its plan."""

from __future__ import annotations

from airflow_refresh_provider.core.plan.chunking import MAX_CHUNKS, raised
from airflow_refresh_provider.core.plan.plan import Frozen, Round
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.trust import difference_text
from airflow_refresh_provider.core.text.wording import counted


def notices_of(run: Run) -> tuple[Notice, ...]:
    """The notices of a run; none before its chunks are planned."""
    if run.frozen is None:
        return ()
    frozen = run.frozen
    of_load = (*_difference(frozen), *_computed_again(frozen), *_replaced(frozen), *_by_checksums(frozen))
    return (*_kept_columns(run), *_raised_rows(run, frozen), *of_load)


def _kept_columns(run: Run) -> tuple[Notice, ...]:
    kept = run.plan.target.kept if run.plan.target else ()
    if not kept:
        return ()
    message = (
        f"the target has columns that the query does not give ({', '.join(c.name for c in kept)}): they stay as they "
        "are, and changes are merged row by row"
    )
    return (Notice(code="columns_kept", message=message),)


def _computed_again(frozen: Frozen) -> tuple[Notice, ...]:
    if frozen.not_added_up is None:
        return ()
    message = f"counts and sums were computed again for the groups of changed rows: {frozen.not_added_up.text}"
    return (Notice(code="not_added_up", message=message),)


def _replaced(frozen: Frozen) -> tuple[Notice, ...]:
    count = frozen.replaced_partitions
    if not count:
        return ()
    message = (
        f"{counted(count, 'partition')} of the target replaced without a comparison, as many of their rows were "
        "expected to change: all rows written count as inserted, and all rows before as deleted"
    )
    return (Notice(code="partitions_replaced", message=message),)


def _by_checksums(frozen: Frozen) -> tuple[Notice, ...]:
    if frozen.compared is None:
        return ()
    message = (
        f"{frozen.compared:,} of {counted(frozen.source_rows, 'row')} were compared with the target: by their "
        "checksums the others are those of the refresh before"
    )
    return (Notice(code="compared_by_checksums", message=message),)


def _difference(frozen: Frozen) -> tuple[Notice, ...]:
    text = difference_text(frozen.verification) if frozen.verification else None
    if text is None:
        return ()
    message = f"{text}: the comparison was applied, and later refreshes compare everything. Please report the query"
    return (Notice(code="verification_failed", message=message),)


def _raised_rows(run: Run, frozen: Frozen) -> tuple[Notice, ...]:
    asked = run.definition.chunking.chunk_rows
    used = max((_chunk_rows(one, frozen.source_rows, asked) for one in frozen.rounds), default=asked)
    if used == asked:
        return ()
    message = (
        f"chunks have about {used:,} rows instead of {asked:,} (`chunk_rows`): that would have been more than "
        f"{MAX_CHUNKS} commits"
    )
    return (Notice(code="chunk_rows_raised", message=message),)


def _chunk_rows(planned: Round, source_rows: int, asked: int) -> int:
    """The rows for which the chunks of a round were planned: `asked`, or more."""
    chunks = [chunk for unit in planned.units for chunk in unit.chunks]
    if planned.changes is None:
        by_chunks = any(chunk.split is not None and len(chunk.split.files) > 1 for chunk in chunks)
        rows = source_rows if by_chunks else 0
    else:
        rows = sum(chunk.staged for chunk in chunks) if len(chunks) > 1 else 0
    return raised(asked, rows)
