"""The windows of a query that is not row-wise: the rows that the changes touch are compared, and no others."""

from __future__ import annotations

from dataclasses import replace

from airflow_refresh_provider.core.changes.pins import size_of
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.temporal_sql import turned as turned_since
from airflow_refresh_provider.core.plan.plan import Plan, StagedTable
from airflow_refresh_provider.core.plan.reasons import Reason
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.core.run.trust import rows_are_known
from airflow_refresh_provider.core.strategy.costing import (
    COUNTED_FROM,
    CostFacts,
    estimates,
    full_is_cheaper,
    share_at_most,
    share_found,
    too_many_touched,
)
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Comparison, KeyReport, Source, Touched, TouchTask
from airflow_refresh_provider.runner.facts import hidden_values, staging_paths
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import comparing, replacing, trusting
from airflow_refresh_provider.runner.windows.skipping import with_skipping
from airflow_refresh_provider.runner.windows.window_changes import (
    CLEANED_UP,
    Changes,
    Loaded,
    known_histories,
    read_of,
    unless_unreadable,
)


def load_touched(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: Ready,
    changed: dict[str, Changes],
    maintenance: Maintenance,
) -> Loaded:
    """Compare the rows that the changes touch, and no others."""
    record, run = tenure.read()
    location, _ = staging_paths.changes_of(run, tenure.generation, "touched")
    turned = _turned(record.published, run.plan, maintenance)
    task = TouchTask(
        source=source,
        changes={name: read_of(tenure.ports, run.definition, name, c, location) for name, c in changed.items()},
        maintenance=maintenance,
        target=ready.target,
        location=location,
        by_partition=_by_partition(tenure.ports, maintenance, changed),
        turned=turned,
        bytes=sum(c.source.bytes for c in changed.values()) + sum(run.plan.pins[n].bytes or 0 for n in turned),
    )
    touched = unless_unreadable(tenure.ports, run.definition, lambda: session.touch(task))
    if isinstance(touched, Reason):
        return Loaded(reason=touched)
    touched = with_skipping(tenure.ports, run.definition, run.plan.pins, ready, touched)
    record, _ = tenure.read()
    if record.published is None or known_histories(tenure.ports, run, record.published) is None:
        return Loaded(reason=CLEANED_UP)
    at_most = share_at_most(touched.rows, record.trust.rows_per_value if record.trust else 1.0, ready.rows or 0)
    share = at_most if at_most <= COUNTED_FROM else _counted_share(session, run.plan, ready, touched, at_most)
    cost = CostFacts(record.measured, run.plan.change_bytes, size_of(run.plan.pins), share)
    found = Loaded(touched_at=tenure.ports.clock.now(), estimates=estimates(cost))
    mode, anchors = run.plan.mode, maintenance.anchors
    many = too_many_touched(mode, touched.rows, share, ready.rows or 0, anchors)
    if reason := many or full_is_cheaper(mode, cost):
        return replace(found, reason=reason)
    if planned := replacing.frozen(tenure, session, ready, touched):
        return replace(found, frozen=planned)
    known = touched.model_copy(update={"share": at_most if rows_are_known(record.trust) else 1.0})
    loaded = trusting.loaded(tenure, session, ready, _compared(tenure, session, ready, known), touched)
    return replace(loaded, touched_at=found.touched_at, estimates=found.estimates)


def _compared(tenure: Tenure, session: EngineSession, ready: Ready, touched: Touched) -> Comparison:
    if not touched.rows:
        return _nothing(touched)
    return comparing.compare(tenure, session, ready.version, touched=touched, kind="of-touched")


def _counted_share(session: EngineSession, plan: Plan, ready: Ready, touched: Touched, at_most: float) -> float | None:
    """The share of the target that is touched, by its rows; None where nothing is decided by it."""
    if plan.mode is not Mode.AUTO:
        return None
    found = session.count_touched(ready.target, ready.version, touched) / max(1, ready.rows or 0)
    return share_found(at_most, found, plan.change_bytes, size_of(plan.pins))


def _turned(published: Published | None, plan: Plan, maintenance: Maintenance) -> dict[str, str]:
    """The conditions for which rows have come and gone with time since the last refresh, whose moment is known."""
    before = published.started_at if published else None
    return turned_since(maintenance.temporal, before, plan.moment) if before else {}


def _by_partition(ports: Ports, maintenance: Maintenance, changed: dict[str, Changes]) -> dict[str, tuple[str, ...]]:
    """The tables of whose changed rows only the values of partition columns count, with these."""
    found = {}
    for name, changes in changed.items():
        columns, pin = maintenance.changed_columns(name), changes.newest
        with hidden_values.of_pin(ports.environment, pin):
            facts = ports.log.facts(pin.location) if columns and pin.table_id else None
        partitions = {column.lower() for column in facts.partitioned_by} if facts else set()
        if columns and columns <= partitions:
            found[name] = tuple(sorted(columns))
    return found


def _nothing(touched: Touched) -> Comparison:
    """Changes of columns that the query does not read touch nothing."""
    nothing = StagedTable(location=touched.location, version=None)
    return Comparison(changes=nothing, counts={}, source_rows=0, target_rows=0, keys=KeyReport(rows=0))
