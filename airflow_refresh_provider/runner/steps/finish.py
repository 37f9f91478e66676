"""Finishing: gate, seal, publish, clean up - each repeatable, each only after the one before is known to be in.

The seal is in the target's log before the control tables say published, so that a crash between the two loses nothing.
"""

from __future__ import annotations

import threading

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.durations import with_duration
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.measuring import measured_after
from airflow_refresh_provider.core.run.origin import starter
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen, prepared
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.core.run.trust import trust_after
from airflow_refresh_provider.errors import Defect, Failed, Invalid, Refused
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.hold.log_lookup import readable, seal_of
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.steps.gate import commits_with_data, gate
from airflow_refresh_provider.runner.steps.sealing import seal


def finish(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> None:
    """Gate, seal and publish; a run whose chunk has sealed it is only published.

    Raises Failed when others keep writing, or chunks are missing.
    """
    tenure.ports.watch.stage("publish")
    passed = gate(tenure, session, workers, stop)
    publish(tenure, passed.version, passed.seal or seal(tenure, session, passed.version))


def publish(tenure: Tenure, version: int, seal_version: int) -> None:
    """Record a sealed version as the published one, with the rows that the whole run changed.

    Raises Failed when the target was replaced: then what was read of it, the seal included, may be another table's.
    """
    before, run = tenure.read()
    held = frozen(run)
    target = held.target
    counts = _applied(tenure, held)
    targets.check_in_place(tenure.ports, target)
    published = Published(
        run_id=run.run_id,
        target_id=target.table_id,
        version=version,
        seal_version=seal_version,
        pins=run.plan.pins,
        definition_hash=run.definition.hash,
        clocked=run.clocked,
        at=tenure.ports.clock.now(),
        origin=run.origin,
        started_at=run.started_at,
        checksums=held.frozen.checksums,
    )

    def recorded(record: Record, held_run: Run) -> Record:
        fresh = record.with_run(Event.PUBLISH, published=True, counts=counts)
        trust = trust_after(record.trust, held.frozen, held_run.plan.change_bytes)
        before = record.published.refreshed_by if record.published else None
        newest = published.model_copy(update={"refreshed_by": starter(run.origin) or before})
        return fresh.model_copy(update={"published": newest, "failures": 0, "trust": trust})

    tenure.write_record(Event.PUBLISH, recorded)
    _drop_checksums(tenure, before.published, published)


def _drop_checksums(tenure: Tenure, before: Published | None, after: Published) -> None:
    """Drop those of the rows that were published before; where this is missed, the next start does it."""
    if before and before.checksums and before.checksums != after.checksums:
        tenure.ports.staging.drop(before.checksums.location)


def show(tenure: Tenure, session: EngineSession) -> Failed | None:
    """Point the definition's view, if it names one, at the published version. Returns the error where that fails.

    The run is not kept for it: the refresh is complete, and a later one tries again.
    """
    record, run = tenure.read()
    published, view = record.published, record.definition.view
    if not view or published is None:
        return None
    target = prepared(run).target
    try:
        version = targets.readable_version(tenure.ports, published, target.location)
        session.show_version(view, target.location, version, (*target.columns, *target.kept))
    except (Invalid, Refused, Failed) as error:
        return Failed(
            "view_failed",
            f"version {published.version} of {record.name} is published, but its view {view} cannot be created: "
            f"{error.message}",
            left=error.left,
            next=f"Fix the cause or correct `view`, then `airflow-refresh run {record.name} --force`.",
        )
    return None


def publish_sealed(tenure: Tenure) -> None:
    """Publish a run whose seal was found in the log. Raises LogGap when that was cleaned since, or as `publish`."""
    run = tenure.read_run()
    sealed = seal_of(tenure.ports, run)
    if sealed is None:
        target = prepared(run).target
        targets.check_in_place(tenure.ports, target)
        raise Defect(
            "seal_missing",
            f"the seal of run {run.run_id} is not in the log of {target.location}",
            left="Nothing was changed.",
            next="Report this; `airflow-refresh recover` is safe to run.",
        )
    publish(tenure, sealed.published, sealed.version)


def clean_up(tenure: Tenure, last: LastRun) -> None:
    """Drop staging and end the run; `last` is how it came out."""
    run = tenure.read_run()
    tenure.ports.watch.stage("cleanup")
    tenure.ports.staging.drop(run.plan.staging)

    def ended(record: Record, run: Run) -> Record:
        same = record.definition.hash == run.definition.hash
        worked = last.spent.worked_seconds if same and last.spent else None
        measured = measured_after(record.measured, run, worked)
        took = last.elapsed_seconds if run.attempts == 1 else None  # a resumed run does not say
        durations = record.durations if took is None else with_duration(record.durations, run.mode, took)
        return record.after(Event.END, run=None, last_run=last, measured=measured, durations=durations)

    tenure.write_record(Event.END, ended)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


def _applied(tenure: Tenure, run: FrozenRun) -> ChangeCounts:
    """Rows that the whole run changed; those of a direct load are counted in its commits."""
    counts = run.frozen.counts()
    if run.frozen.rounds[0].changes is not None:
        return counts
    commits, _complete = readable(tenure.ports, run)
    loaded = sum(c.net_rows or 0 for c in commits_with_data(commits, run)) - counts.net
    return counts + ChangeCounts(inserted=max(0, loaded))
