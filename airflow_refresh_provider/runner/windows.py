"""Windows: what an incremental run reads of its inputs, decided when it starts and staged when it loads.

The change set of a window is only right on top of what the last refresh has left. So it is not used when anybody else
has written the target since, nor when an input turns out not to tell all of its changes: then everything is compared
after all, and the run says why.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_refresh_provider.core.columns import DOUBTFUL
from airflow_refresh_provider.core.definition import Deletes
from airflow_refresh_provider.core.history import InputHistory
from airflow_refresh_provider.core.mode import Mode
from airflow_refresh_provider.core.pins import DeltaPin, VersionVector
from airflow_refresh_provider.core.plan import ChangeCounts, Frozen, Round, StagedTable
from airflow_refresh_provider.core.policy import check_deletes
from airflow_refresh_provider.core.record import Record, Run
from airflow_refresh_provider.core.request import Request
from airflow_refresh_provider.core.scope import Scope, ScopeFacts, scope
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import Comparison, EngineSession, KeyReport, Source, WindowTask
from airflow_refresh_provider.runner import queries, rounds, staged, targets
from airflow_refresh_provider.runner.targets import Ready
from airflow_refresh_provider.runner.tenure import Tenure

_COUNTED = {"I": "inserted", "U": "updated", "D": "deleted"}

Loaded = tuple[Frozen | None, str | None]
"""What was frozen from windows; or nothing, and why not."""


def scope_of(ports: Ports, record: Record, pins: VersionVector, request: Request) -> Scope:
    """What a run that starts now reads. Raises Invalid when the mode it is to have does not go with its query."""
    definition, published = record.definition, record.published
    mode = request.mode or definition.mode
    return scope(
        ScopeFacts(
            mode=mode,
            definition_hash=definition.hash,
            published=published,
            pins=pins,
            histories=histories(ports, published.pins if published else {}, pins),
            obstacle=None if mode is Mode.FULL else queries.obstacle(definition, mode),
            now=ports.clock.now(),
            insist=request.force or request.mode is Mode.FULL,
        )
    )


def histories(ports: Ports, applied: VersionVector, pins: VersionVector) -> dict[str, InputHistory | None]:
    """What happened to each input since it was applied, where that is the same Delta table."""
    found = {}
    for name, newest in pins.items():
        before = applied.get(name)
        if not isinstance(newest, DeltaPin) or not isinstance(before, DeltaPin):
            continue
        if before.table_id == newest.table_id and before.version <= newest.version:
            found[name] = ports.inputs.history(before, newest)
    return found


def load(tenure: Tenure, session: EngineSession, source: Source, ready: Ready) -> Loaded:
    """Stage and freeze what the run's windows change in the target."""
    record = tenure.record()
    run, published = record.run, record.published
    assert run is not None
    if published is None or targets.written_by_others(tenure.ports, published, ready):
        return None, f"others have written the target {ready.target.location} since the last refresh"
    if ready.rows is None:
        return None, f"the log of the target {ready.target.location} does not tell how many rows it has"
    known = _complete(tenure.ports, run)
    if known is None:
        return None, "the log of an input no longer holds its window"
    if not any(history.moved for history in known.values()):
        nothing = Round(base=ready.version, changes=None, units=())
        return Frozen(rounds=(nothing,), source_rows=ready.rows, unchanged=ready.rows), None
    tenure.ports.watch.stage("changes")
    try:
        staged_table = session.read_windows(_task(tenure, run, source, ready, known))
    except Failed as error:
        return None, f"the changes of the inputs cannot be read: {error.message}"
    # Spark passes over a first commit that is cleaned out while it reads.
    if _complete(tenure.ports, run) is None:
        return None, "the log of an input was cleaned out while its window was read"
    rows = tenure.ports.staging.changes(staged_table)
    if any(op == DOUBTFUL for _, op in rows):
        return None, "a key has no value, or more than one row, after the changes of the inputs"
    return _frozen(run, ready, told(staged_table, rows, ready.rows)), None


def told(changes: StagedTable, rows: Mapping[tuple[int, str], int], target_rows: int) -> Comparison:
    """What a comparison would have found, told by the inputs."""
    counts: dict[int, ChangeCounts] = {}
    for (vnode, op), count in rows.items():
        counts[vnode] = counts.get(vnode, ChangeCounts()) + ChangeCounts(**{_COUNTED[op]: count})
    grown = sum(c.net for c in counts.values())
    source_rows = target_rows + grown
    return Comparison(
        changes=changes,
        counts=counts,
        source_rows=source_rows,
        target_rows=target_rows,
        keys=KeyReport(rows=source_rows),
        exact=False,
    )


def _frozen(run: Run, ready: Ready, read: Comparison) -> Frozen:
    total = read.total
    check_deletes(total.deleted, read.target_rows, run.definition.max_delete_ratio, force=run.plan.force)
    return Frozen(
        rounds=(rounds.round_of(run, ready.version, read),),
        source_rows=read.source_rows,
        unchanged=read.target_rows - total.updated - total.deleted,
    )


def _task(tenure: Tenure, run: Run, source: Source, ready: Ready, known: dict[str, InputHistory]) -> WindowTask:
    location, stamp = staged.changes_of(run, tenure.generation, "window")
    return WindowTask(
        source=source,
        windows={name: window.within(known[name].changes) for name, window in run.plan.windows.items()},
        target=ready.target,
        location=location,
        stamp=stamp,
        deletes=run.definition.deletes is Deletes.APPLY,
        partitioned=rounds.laid_out_by_vnode(run, _changed_rows(run, known)),
    )


def _complete(ports: Ports, run: Run) -> dict[str, InputHistory] | None:
    """The histories of the plan's windows, None when one of them can no longer be told."""
    found = {}
    for name, window in run.plan.windows.items():
        newest = run.plan.pins[name]
        assert isinstance(newest, DeltaPin)
        history = ports.inputs.history(newest.model_copy(update={"version": window.after}), newest)
        if history is None:
            return None
        found[name] = history
    return found


def _changed_rows(run: Run, known: dict[str, InputHistory]) -> int:
    """About how many rows the windows have, as far as sizes tell."""
    return sum(_rows_within(run, name, history) for name, history in known.items())


def _rows_within(run: Run, name: str, history: InputHistory) -> int:
    pin = run.plan.pins[name]
    return round((pin.rows or 0) * history.bytes / pin.bytes) if pin.bytes else 0
