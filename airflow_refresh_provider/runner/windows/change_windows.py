"""Windows: what an incremental run reads of its inputs, decided when it starts and staged when it loads.

The change set of a window is only correct for the rows that the last refresh wrote. It is not used when another writer
has changed the target since, or when the changes of an input are incomplete: then everything is compared, and the run
says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.columns import visible
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, check_mode
from airflow_refresh_provider.core.maintain.exact_sums import exact
from airflow_refresh_provider.core.maintain.plan import Maintenance, Sums
from airflow_refresh_provider.core.plan.plan import Frozen, Round
from airflow_refresh_provider.core.plan.reasons import ReasonCode, because
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.clock import clock_moved
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.trust import lost_trust
from airflow_refresh_provider.core.strategy.adding import doubt
from airflow_refresh_provider.core.strategy.scope import NO_MOMENT, Scope, ScopeFacts, scope
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.runner.facts import hidden_values, targets
from airflow_refresh_provider.runner.facts.maintaining import maintenance_of, unfollowed_reason
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import row_windows, touched_windows
from airflow_refresh_provider.runner.windows.window_changes import Changes, Loaded, changes_of, known_histories


def scope_of(
    ports: Ports,
    record: Record,
    facts: QueryFacts,
    pins: VersionVector,
    request: Request,
    target_changed: str | None,
    maintenance: Maintenance | None,
) -> Scope:
    """What a run that starts now reads. Raises Invalid when the mode is not possible.

    `facts` are those of its query, `target_changed`: why the target may have other rows than the last refresh wrote.
    `maintenance`: how changes are followed, None for a row-wise query and for mode full.
    """
    definition, published = record.definition, record.published
    mode = request.mode or definition.mode
    known = histories(ports, published.pins if published else {}, pins)
    if maintenance is None and mode is not Mode.FULL and _rows_went(definition, known):
        maintenance = _by_key(ports, definition, pins)
    found = scope(
        ScopeFacts(
            mode=mode,
            definition_hash=definition.hash,
            published=published,
            pins=pins,
            histories=known,
            obstacle=None
            if mode is Mode.FULL
            else _obstacle(maintenance, definition, known, mode, first=published is None),
            now=ports.clock.now(),
            lost_trust=lost_trust(record.trust) if maintenance else None,
            insist=request.force or request.mode is Mode.FULL,
            target_changed=target_changed,
            measured=record.measured,
            clock_moved=clock_moved(published, facts, ports.clock.now()),
            follows_time=bool(maintenance and maintenance.temporal),
        )
    )
    return found.model_copy(update={"maintenance": maintenance if found.windows else None})


def _rows_went(definition: Definition, known: Mapping[str, InputHistory | None]) -> bool:
    """Whether added rows do not say which row of a key is the newest (on_duplicate: latest)."""
    return definition.latest_by is not None and not all(history.adds_only for history in known.values() if history)


def _by_key(ports: Ports, definition: Definition, pins: VersionVector) -> Maintenance | None:
    """How the rows of a key are found that changed rows touch; None where they are not by this query."""
    found = maintenance_of(ports, definition, pins)
    return found if unfollowed_reason(found, definition, pins) is None else None


def _obstacle(
    maintenance: Maintenance | None,
    definition: Definition,
    known: Mapping[str, InputHistory | None],
    mode: Mode,
    *,
    first: bool,
) -> str | None:
    """Why the changes of the inputs cannot be followed. Raises Invalid for mode incremental.

    `first`: at the first refresh that mode has to follow all of them.
    """
    changed = [name for name, history in known.items() if history is not None and history.changed]
    changed += [one.input for one in maintenance.temporal] if maintenance else []
    if first and mode is Mode.INCREMENTAL:
        changed = list(definition.inputs)
    reason = unfollowed_reason(maintenance, definition, changed) if maintenance else None
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
        return Loaded(reason=because(ReasonCode.FIRST_REFRESH, "the last refresh is not known"))
    if changed_by := targets.changed_reason(tenure.ports, published, ready.target, ready.version):
        return Loaded(reason=because(ReasonCode.TARGET_CHANGED, changed_by))
    if ready.rows is None:
        text = f"the log of the target {ready.target.location} does not say how many rows it has"
        return Loaded(reason=because(ReasonCode.TARGET_ROWS_UNKNOWN, text))
    known = known_histories(tenure.ports, run, published)
    if known is None:
        text = "the changes of an input in its window are no longer available"
        return Loaded(reason=because(ReasonCode.HISTORY_LOST, text))
    moved = clock_moved(published, run.plan.facts, run.plan.moment)
    if moved and published.started_at is None:
        return Loaded(reason=because(ReasonCode.CLOCK, NO_MOMENT))
    if not moved and not any(history.changed for history in known.values()):
        nothing = Round(base=ready.version, changes=None, units=())
        return Loaded(Frozen(rounds=(nothing,), source_rows=ready.rows, unchanged=ready.rows))
    changed = changes_of(tenure.ports, run, published, known)
    if changed is None:
        return Loaded(reason=because(ReasonCode.CHANGES_EXPIRED, "the changes in the window of an input have expired"))
    tenure.ports.watch.stage("changes", rows=sum(c.rows for c in changed.values()))
    if run.plan.maintenance is None:
        return row_windows.load_rows(tenure, session, source, ready, changed)
    return _load_maintained(tenure, session, source, ready, changed)


def _load_maintained(
    tenure: Tenure, session: EngineSession, source: Source, ready: Ready, changed: dict[str, Changes]
) -> Loaded:
    """The changes of a query that is not row-wise: added up, or else by touched values."""
    run = tenure.read_run()
    maintenance = run.plan.maintenance
    assert maintenance is not None
    if {c.name.lower() for c in visible(ready.target.columns)} != set(maintenance.columns):
        text = "Spark gives other columns than the analysis of the query has found"
        return Loaded(reason=because(ReasonCode.OTHER_COLUMNS, text))
    sums = _added_up(maintenance, ready, changed)
    reason = None
    if sums:
        (only,) = changed.values()
        reason = doubt(sums, adds_only=only.adds_only, rows=only.newest.rows, groups=ready.rows or 0)
        if reason is None:
            loaded = row_windows.load_sums(tenure, session, source, ready, changed, sums)
            if loaded.frozen or loaded.unverified:
                return loaded
            reason = loaded.reason
    if obstacle := next((o for name, o in maintenance.only_added_up.items() if name in changed), None):
        return Loaded(reason=reason or because(ReasonCode.NOT_FOLLOWED, str(obstacle)))
    again = touched_windows.load_touched(tenure, session, source, ready, changed, maintenance)
    frozen = again.frozen and again.frozen.model_copy(update={"not_added_up": reason})
    return replace(again, frozen=frozen)


def _added_up(maintenance: Maintenance, ready: Ready, changed: dict[str, Changes]) -> Sums | None:
    """How the changes are added up; None where that does not give exactly what the whole query gives."""
    sums = maintenance.sums
    if sums is None or len(changed) > 1 or not changed.keys() <= set(sums.inputs):
        return None
    return sums if exact(sums, ready.target.columns) else None
