"""Windows: what an incremental run reads of its inputs, decided when it starts and staged when it loads.

The change set of a window is only correct for the rows that the last refresh wrote. It is not used when another writer
has changed the target since, or when the changes of an input are incomplete: then everything is compared, and the run
says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSourceInfo
from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.definition.columns import DOUBTFUL, visible
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, check_mode, obstacle
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Frozen, Round, StagedTable
from airflow_refresh_provider.core.plan.policy import ENVIRONMENT_ERRORS, check_deletes
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.strategy.scope import Scope, ScopeFacts, scope, too_many_touched
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import Comparison, EngineSession, KeyReport, Source, TouchTask, WindowTask
from airflow_refresh_provider.runner.facts import hidden_values, pinned_inputs, staging_paths, targets
from airflow_refresh_provider.runner.facts.maintaining import maintenance_of, unfollowed_reason
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import comparing, rounds

_COUNTED = {"I": "inserted", "U": "updated", "D": "deleted"}

_CLEANED_UP = "the log of an input was cleaned up while its window was read"

Loaded = tuple[Frozen | None, str | None]
"""What was frozen from windows; or nothing, and why not."""


@dataclass(frozen=True)
class _Changes:
    """What has changed in an input between two states, and the source it is read from."""

    applied: Pin
    newest: Pin
    source: ChangeSourceInfo

    @property
    def rows(self) -> int:
        """About how many rows that is, by size."""
        return round((self.newest.rows or 0) * self.source.bytes / self.newest.bytes) if self.newest.bytes else 0


def scope_of(
    ports: Ports,
    record: Record,
    facts: QueryFacts,
    pins: VersionVector,
    request: Request,
    target_changed: str | None,
) -> tuple[Scope, Maintenance | None]:
    """What a run that starts now reads, and how changes are followed. Raises Invalid when the mode is not possible.

    `facts` are those of its query, `target_changed`: why the target may have other rows than the last refresh wrote.
    """
    definition, published = record.definition, record.published
    mode = request.mode or definition.mode
    known = histories(ports, published.pins if published else {}, pins)
    row_by_row = mode is Mode.FULL or facts.row_wise
    maintenance = None if row_by_row else maintenance_of(ports, definition, pins)
    found = scope(
        ScopeFacts(
            mode=mode,
            definition_hash=definition.hash,
            published=published,
            pins=pins,
            histories=known,
            obstacle=None if mode is Mode.FULL else _obstacle(facts, maintenance, definition, known, mode),
            now=ports.clock.now(),
            insist=request.force or request.mode is Mode.FULL,
            target_changed=target_changed,
        )
    )
    return found, maintenance if found.windows else None


def _obstacle(
    facts: QueryFacts,
    maintenance: Maintenance | None,
    definition: Definition,
    known: Mapping[str, InputHistory | None],
    mode: Mode,
) -> str | None:
    """Why the changes of the inputs cannot be followed. Raises Invalid for mode incremental."""
    changed = [name for name, history in known.items() if history is not None and history.changed]
    reason = obstacle(facts) or (unfollowed_reason(maintenance, definition, changed) if maintenance else None)
    check_mode(mode, reason)
    return reason


def histories(ports: Ports, applied: VersionVector, pins: VersionVector) -> dict[str, InputHistory | None]:
    """The history of each input since it was applied, unless it was replaced."""
    found: dict[str, InputHistory | None] = {}
    for name, newest in pins.items():
        if name in applied and newest.follows(applied[name]):
            with hidden_values.of_pin(ports.environment, newest):
                found[name] = ports.inputs[newest.format].history(applied[name], newest)
    return found


def load(tenure: Tenure, session: EngineSession, source: Source, ready: Ready) -> Loaded:
    """Stage and freeze what the run's windows change in the target."""
    record, run = tenure.read()
    published = record.published
    if published is None:
        return None, "the last refresh is not known"
    if reason := targets.changed_reason(tenure.ports, published, ready.target, ready.version):
        return None, reason
    if ready.rows is None:
        return None, f"the log of the target {ready.target.location} does not say how many rows it has"
    known = _known(tenure.ports, run, published)
    if known is None:
        return None, "the changes of an input in its window are no longer available"
    if not any(history.changed for history in known.values()):
        nothing = Round(base=ready.version, changes=None, units=())
        return Frozen(rounds=(nothing,), source_rows=ready.rows, unchanged=ready.rows), None
    changed = _changes(tenure.ports, run, published, known)
    if changed is None:
        return None, "the changes in the window of an input have expired"
    tenure.ports.watch.stage("changes", rows=sum(c.rows for c in changed.values()))
    if run.plan.maintenance:
        return _keyed(tenure, session, source, ready, changed, run.plan.maintenance)
    return _by_rows(tenure, session, source, ready, changed)


def _by_rows(
    tenure: Tenure, session: EngineSession, source: Source, ready: Ready, changed: dict[str, _Changes]
) -> Loaded:
    """The changes of a row-wise query: those of its input, row by row."""
    record, run = tenure.read()
    task = _task(tenure, run, source, ready, changed)
    staged_table, unread = _staged(tenure.ports, session, run.definition, task)
    if staged_table is None:
        return None, unread
    # Spark skips a first commit that is cleaned up while it reads.
    if record.published is None or _known(tenure.ports, run, record.published) is None:
        return None, _CLEANED_UP
    rows = tenure.ports.staging.changes(staged_table)
    if any(op == DOUBTFUL for _, op in rows):
        return None, _doubt(run.definition)
    return _frozen(run, ready, as_comparison(staged_table, rows, ready.rows or 0)), None


def _keyed(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: Ready,
    changed: dict[str, _Changes],
    maintenance: Maintenance,
) -> Loaded:
    """Compare the rows that the changes touch, and no others."""
    run = tenure.read_run()
    if {c.name.lower() for c in visible(ready.target.columns)} != set(maintenance.columns):
        return None, "Spark gives other columns than the analysis of the query has found"
    location, _ = staging_paths.changes_of(run, tenure.generation, "touched")
    touched = session.touch(
        TouchTask(
            source=source,
            changes={name: _read(tenure.ports, run.definition, name, c, location) for name, c in changed.items()},
            maintenance=maintenance,
            target=ready.target,
            location=location,
        )
    )
    record, _ = tenure.read()
    if record.published is None or _known(tenure.ports, run, record.published) is None:
        return None, _CLEANED_UP
    if reason := too_many_touched(run.plan.mode, touched.rows, ready.rows or 0, maintenance.anchors):
        return None, reason
    compared = comparing.compare(tenure, session, ready.version, stored_hashes=False, touched=touched)
    grown = compared.total.net
    whole = compared.model_copy(
        update={"exact": False, "target_rows": ready.rows, "source_rows": (ready.rows or 0) + grown}
    )
    return _frozen(run, ready, whole), None


def _read(ports: Ports, definition: Definition, name: str, changes: _Changes, location: str) -> ChangedRows:
    kind, options = ports.inputs[changes.newest.format], pinned_inputs.options(ports, definition, name)
    return kind.changes(changes.applied, changes.newest, changes.source.source, f"{location}-{name}", options)


def _staged(
    ports: Ports, session: EngineSession, definition: Definition, task: WindowTask
) -> tuple[StagedTable | None, str | None]:
    """The staged changes, or why they cannot be read. A full disk is no reason: comparing would need more of it."""
    try:
        with hidden_values.without_values(ports.environment, definition.inputs.values()):
            return session.read_windows(task), None
    except (Failed, Invalid) as error:
        if error.code in ENVIRONMENT_ERRORS:
            raise
        return None, f"the changes of the inputs cannot be read: {error.kept(redact=definition.redact_keys)}"


def _doubt(definition: Definition) -> str:
    """Why all rows have to be compared although the changes could be read."""
    if definition.latest_by is None:
        return "a key would be NULL or occur twice after the changes of the inputs"
    return (
        "rows were removed from the inputs, or a key would be NULL, and then only all rows of a key say which is the "
        "newest (on_duplicate: latest)"
    )


def as_comparison(changes: StagedTable, rows: Mapping[tuple[int, str], int], target_rows: int) -> Comparison:
    """The comparison that follows from the changes of the inputs."""
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
        rounds=(rounds.round_of(prepared(run), ready.version, read),),
        source_rows=read.source_rows,
        unchanged=read.target_rows - total.updated - total.deleted,
    )


def _task(tenure: Tenure, run: Run, source: Source, ready: Ready, changed: dict[str, _Changes]) -> WindowTask:
    location, stamp = staging_paths.changes_of(run, tenure.generation, "window")
    ports, definition = tenure.ports, run.definition
    return WindowTask(
        source=source,
        changes={name: _read(ports, definition, name, c, location) for name, c in changed.items()},
        target=ready.target,
        base=ready.version,
        location=location,
        stamp=stamp,
        deletes=definition.deletes is Deletes.APPLY,
        partitioned=sum(c.rows for c in changed.values()) > rounds.one_chunk(run),
        bytes=sum(c.source.bytes for c in changed.values()),
    )


def _known(ports: Ports, run: Run, published: Published) -> dict[str, InputHistory] | None:
    """The histories of the plan's windows, None when one of them is no longer available."""
    found = {}
    for name in run.plan.windows:
        newest = run.plan.pins[name]
        history = ports.inputs[newest.format].history(_applied(run, published, name), newest)
        if history is None:
            return None
        found[name] = history
    return found


def _changes(
    ports: Ports, run: Run, published: Published, known: dict[str, InputHistory]
) -> dict[str, _Changes] | None:
    """What has changed in the inputs that did, None when every change source of one of them has expired meanwhile."""
    found = {}
    for name, history in known.items():
        if not history.changed:
            continue
        source = history.best_source(ports.clock.now())
        if source is None:
            return None
        # Versions before the first change need not be kept.
        applied = _at(_applied(run, published, name), history.changes[0].version - 1)
        found[name] = _Changes(applied, run.plan.pins[name], source)
    return found


def _applied(run: Run, published: Published, name: str) -> Pin:
    """The state at which the plan's window of an input begins."""
    return _at(published.pins[name], run.plan.windows[name].after)


def _at(pin: Pin, digest: int | str) -> Pin:
    """The input at another state, or at this one where no other can be named."""
    return pin.at(digest, pin.table_id) or pin
