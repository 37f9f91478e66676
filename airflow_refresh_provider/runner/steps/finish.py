"""Finishing: gate, seal, publish, clean up - each repeatable, each only after the one before is known to be in.

The gate reads what has been committed to the target since the comparison. Where somebody else has written, the
vnodes he touched are compared and applied again, a bounded number of times. The seal stands in the target's log before
the control tables say published, so that a crash between the two loses nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log.commits import Commit, Foreign, Origin, Standing, foreign, origin, standing
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.log.seal import Seal, planned_growth
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.core.run.cursor import cursor_of
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.errors import Conflict, Defect, Failed, Invalid, Refused, Retry
from airflow_refresh_provider.ports.engine import EngineSession, Stamp
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.hold import takeover
from airflow_refresh_provider.runner.hold.tenure import Tenure, lost
from airflow_refresh_provider.runner.steps import load, merge
from airflow_refresh_provider.runner.windows import rounds

REPAIR_ROUNDS = 5
SEAL_TRIES = 10


class Passed(NamedTuple):
    """What the gate lets through: a version of the target, and the version of its seal if it has one already."""

    version: int
    seal: int | None


def finish(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> None:
    """Gate, seal and publish; a chunk that has sealed its run leaves the last of them.

    Raises Failed when others keep writing, or chunks are missing.
    """
    tenure.ports.watch.stage("publish")
    passed = gate(tenure, session, workers, stop)
    publish(tenure, passed.version, passed.seal or _seal(tenure, session, passed.version))


def gate(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> Passed:
    """Where the target equals the pinned query. Repairs what others have written meanwhile."""
    for left in reversed(range(REPAIR_ROUNDS)):
        run = tenure.read_run()
        target, frozen = _target(run), run.frozen
        assert frozen is not None
        targets.check_in_place(tenure.ports, target)
        if sealed := _sealed_by_its_chunk(tenure, run):
            return Passed(sealed.published, sealed.version)
        if slots := merge.unfinished(tenure.ports, run):
            raise merge.chunks_missing(tenure.name, slots)
        newest = tenure.ports.log.newest(target.location)
        found, commits = _foreign(tenure, run, target, newest)
        if not found.found and not _grown_as_planned(run, target, commits):
            found = _unexpected(run, target, newest)
        if not found.found:
            if frozen.current.reads_inputs:
                pinned_inputs.check_in_place(tenure.ports, run)
            return Passed(newest, None)
        if not left:
            break
        tenure.ports.watch.note(f"versions {list(found.versions)} are not all of this run's making: comparing again")
        _repair(tenure, session, found, newest)
        merge.merge(tenure, session, workers, stop)
    raise Failed(
        "target_contended",
        f"others kept writing the target {target.location} through {REPAIR_ROUNDS} comparisons",
        left="All chunks are in the target, rows of the others too; nothing was published.",
        next="Stop the other writer, then run again: it goes on with another comparison.",
    )


def publish(tenure: Tenure, version: int, seal_version: int) -> None:
    """Record a sealed version as the one to read, and what the whole run has changed.

    Raises Failed when the target was replaced: what has been read of it, the seal included, may be another table's.
    """
    run = tenure.read_run()
    target = _target(run)
    counts = _applied(tenure, run, target)
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
    )

    def change(record: Record) -> Record:
        fresh = record.with_run(Event.PUBLISH, published=True, counts=counts)
        return fresh.model_copy(update={"published": published, "failures": 0})

    tenure.write_record(Event.PUBLISH, change)


def show(tenure: Tenure, session: EngineSession) -> Failed | None:
    """Point the definition's view, if it names one, at the published version. Returns why that cannot be done.

    It is no reason to keep the run: the refresh is whole, and a later one tries again.
    """
    record = tenure.read_record()
    run, published, view = record.run, record.published, record.definition.view
    assert run is not None
    assert published is not None
    if not view:
        return None
    target = _target(run)
    try:
        session.show_version(view, target.location, published.version, target.columns)
    except (Invalid, Refused, Failed) as error:
        return Failed(
            "view_failed",
            f"version {published.version} of {record.name} is published, but its view {view} cannot be made: "
            f"{error.message}",
            left=error.left,
            next=f"Mend what is in its way or correct `view`, then `airflow-refresh run {record.name} --force`.",
        )
    return None


def publish_sealed(tenure: Tenure) -> None:
    """Publish a run whose seal was found in the log. Raises LogGap when that was cleaned since, or as `publish`."""
    run = tenure.read_run()
    sealed = takeover.seal_of(tenure.ports, run)
    if sealed is None:
        targets.check_in_place(tenure.ports, _target(run))
        raise Defect(
            "seal_missing",
            f"the seal of run {run.run_id} is not in the log of {_target(run).location}",
            left="Nothing was changed.",
            next="Report this; `airflow-refresh recover` is safe to run.",
        )
    publish(tenure, sealed.published, sealed.version)


def clean_up(tenure: Tenure) -> None:
    """Drop staging and end the run."""
    run = tenure.read_run()
    tenure.ports.watch.stage("cleanup")
    tenure.ports.staging.drop(run.plan.staging)
    tenure.write_record(Event.END, lambda record: record.after(Event.END, run=None))
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


def _sealed_by_its_chunk(tenure: Tenure, run: Run) -> Seal | None:
    """The seal that the run already has; a log that has been cleaned out shows none, which the gate deals with."""
    with suppress(LogGap):
        return takeover.seal_of(tenure.ports, run)
    return None


def _seal(tenure: Tenure, session: EngineSession, version: int) -> int:
    """Commit the seal; returns the version it landed in. Raises Lost when a younger owner was there first, Failed."""
    run = tenure.read_run()
    target = _target(run)
    app_id = seal_app_id(target.table_id)
    marker = Marker(tenure.generation, 1)
    note = Note(
        kind=NoteKind.SEAL,
        definition=tenure.name,
        run=run.run_id,
        generation=tenure.generation,
        inputs=digests(run.plan.pins),
        windows=run.windows,
        published_version=version,
        cursor=cursor_of(run, tenure.ports.clock.now()),
    )
    for _ in range(SEAL_TRIES):
        try:
            session.mark(target.location, Stamp(app_id=app_id, marker=marker, note=note))
        except Conflict:
            pass
        except Retry:
            if standing(tenure.ports.log.markers(target.location).get(app_id), marker) is Standing.OLDER:
                raise
        match standing(tenure.ports.log.markers(target.location).get(app_id), marker):
            case Standing.YOUNGER:
                raise lost(tenure.ports, tenure.name, tenure.run_id)
            case Standing.MINE:
                since = tenure.ports.log.commits(target.location, after=version)
                if sealed := next((c.version for c in since if c.txns.get(app_id) == marker.version), None):
                    return sealed
                raise targets.not_in_place(target)  # it is in a table that has come since the last look
            case Standing.OLDER:
                tenure.read_run()
    raise Retry(
        "seal_failed",
        f"the seal of run {run.run_id} did not get into the target in {SEAL_TRIES} tries",
        left="All chunks are in; the refresh is complete but not published.",
        next=f"Run `airflow-refresh run {tenure.name}` again; only sealing and publishing are left.",
    )


def _applied(tenure: Tenure, run: Run, target: Target) -> ChangeCounts:
    """Rows that the whole run changed; those of a direct load are counted in its commits."""
    frozen = run.frozen
    assert frozen is not None
    counts = frozen.counts()
    if frozen.rounds[0].changes is not None:
        return counts
    commits, _complete = takeover.readable(tenure.ports, target, frozen)
    loaded = sum(c.net_rows or 0 for c in _ours(commits, run, target)) - counts.net
    return counts + ChangeCounts(inserted=max(0, loaded))


def _ours(commits: Iterable[Commit], run: Run, target: Target) -> list[Commit]:
    return [c for c in commits if c.data_change and origin(c, target.table_id, run.generations) is Origin.OURS]


def _repair(tenure: Tenure, session: EngineSession, found: Foreign, newest: int) -> None:
    """Compare what others have touched with the pinned query again, and add the chunks that follow from it."""
    run = tenure.read_run()
    compared = load.compare(tenure, session, newest, found.vnodes, stored_hashes=False)
    pinned_inputs.check_in_place(tenure.ports, run)
    assert run.frozen is not None
    extra = rounds.round_of(run, newest, compared, found.vnodes)
    frozen = run.frozen.model_copy(update={"rounds": (*run.frozen.rounds, extra)})
    tenure.write(Event.REPAIR, frozen=frozen, claims={})


def _foreign(tenure: Tenure, run: Run, target: Target, newest: int) -> tuple[Foreign, tuple[Commit, ...]]:
    """What others committed since the newest comparison; a log with gaps hides anything, so everything is compared."""
    assert run.frozen is not None
    base = run.frozen.current.base
    try:
        commits = tenure.ports.log.commits(target.location, after=base, upto=newest)
    except LogGap:
        return Foreign(versions=(newest,), vnodes=None), ()
    return foreign(commits, target.table_id, run.generations), commits


def _grown_as_planned(run: Run, target: Target, commits: tuple[Commit, ...]) -> bool:
    """Whether the target has as many rows more as were planned, as far as its log tells."""
    assert run.frozen is not None
    planned = planned_growth(run.frozen.current)
    ours = _ours(commits, run, target)
    if planned is None or any(c.net_rows is None for c in ours):
        return True
    return sum(c.net_rows or 0 for c in ours) == planned


def _unexpected(run: Run, target: Target, newest: int) -> Foreign:
    """What follows when the target grew otherwise than planned. Raises Defect when the plan had looked at the target.

    A window only tells what happened to an input. Where that does not add up, as when two of its rows had one key, a
    comparison finds out.
    """
    assert run.frozen is not None
    if run.frozen.current.compared:
        raise Defect(
            "count_mismatch",
            f"the target {target.location} grew by another number of rows than was planned",
            left="Nothing was published; the target holds the applied chunks.",
            next="Report this with the target's log; `run --on-interrupted restart` compares anew.",
        )
    return Foreign(versions=(newest,), vnodes=None)


def _target(run: Run) -> Target:
    assert run.plan.target is not None
    return run.plan.target
