"""Sealing: the commit to the target that says that a run is complete."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.run.cursor import cursor_of
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.seals import Unsealed
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.hold.marked_commits import MarkedCommit, commit_of, commit_until_marked
from airflow_refresh_provider.runner.hold.tenure import Tenure

SEAL_TRIES = 10

_WHY_SPARK = {
    Unsealed.FEATURES: "the target has table features that delta-rs does not commit to",
    Unsealed.CHECKPOINT: "a checkpoint is due with it",
    Unsealed.DENIED: "this process may not write the target",
}


def seal(tenure: Tenure, session: EngineSession, version: int) -> int:
    """Seal `version` as complete; returns the version of the seal. Raises Lost when a younger owner was first."""
    run = tenure.read_run()
    target = prepared(run).target
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
    stamp = Stamp(app_id=seal_app_id(target.table_id), marker=Marker(tenure.generation, 1), note=note)
    wanted = MarkedCommit(
        target=target,
        stamp=lambda: stamp,
        send=lambda stamp: _send(tenure.ports, session, target, stamp),
        tries=SEAL_TRIES,
        exhausted=lambda: _not_sealed(tenure),
        before=lambda: targets.check_in_place(tenure.ports, target),
        again=lambda _conflict, _left: tenure.read_run(),
    )
    return commit_of(tenure.ports, target, commit_until_marked(tenure, wanted), version).version


def _send(ports: Ports, session: EngineSession, target: Target, stamp: Stamp) -> None:
    """Commit the seal once, by this process where it can."""
    if why := ports.seals.commit(target, stamp):
        ports.watch.note(f"the seal is committed by Spark: {_WHY_SPARK[why]} ({why})")
        session.mark(target, stamp)


def _not_sealed(tenure: Tenure) -> Retry:
    return Retry(
        "seal_failed",
        f"the seal of run {tenure.run_id} was not committed to the target in {SEAL_TRIES} tries",
        left="All chunks are in; the refresh is complete but not published.",
        next=f"Run `airflow-refresh run {tenure.name}` again; only sealing and publishing are left.",
    )
