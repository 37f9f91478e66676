"""Fences: empty commits after which no older generation can commit to a slot or to the seal."""

from __future__ import annotations

from collections.abc import Callable

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen_or_none
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.hold.log_lookup import last_chunk
from airflow_refresh_provider.runner.hold.marked_commits import MarkedCommit, commit_until_marked
from airflow_refresh_provider.runner.hold.run_sessions import closed_on_failure, sessions_of
from airflow_refresh_provider.runner.hold.tenure import Tenure

FENCE_TRIES = 20


def fence_run(tenure: Tenure, old: Run) -> EngineSession | None:
    """Release the sessions of a run's old owners and fence every slot they could write with.

    Returns the run's own session when one had to be opened. Raises Lost when a younger owner is there.
    """
    for left_over in sessions_of(old):
        tenure.ports.engine.release(left_over)
    held = frozen_or_none(old)
    if held is None or old.published or targets.replaced(tenure.ports, held.target):
        return None
    session = tenure.ports.engine.open(tenure.read_run().session)
    tenure.meter.follow(session)
    with closed_on_failure(session):
        for slot in held.frozen.slots:
            fence_slot(tenure, session, held, slot, tenure.generation)
        fence_seal(tenure, session, held.target)
    return session


def fence_slot(tenure: Tenure, session: EngineSession, held: FrozenRun, slot: int, generation: int) -> None:
    """Fence one slot for a generation. Raises Lost when a younger one is there.

    The fence stands at the last chunk done. That is read from the log again after the fence is in: a chunk that came
    in between is counted, and the fence is moved up to it.
    """
    app_id = slot_app_id(held.target.table_id, slot)

    def stamp() -> Stamp:
        run = tenure.read_run()
        reached = last_chunk(tenure.ports, held, slot, run.generations)
        return _stamp(tenure, run, app_id, Marker(generation, reached, fence=True), slot)

    _fence(tenure, session, held.target, app_id, stamp)


def fence_seal(tenure: Tenure, session: EngineSession, target: Target) -> None:
    """Fence the seal for the owner's generation. Raises Lost when a younger one is there."""
    app_id, marker = seal_app_id(target.table_id), Marker(tenure.generation, 0, fence=True)
    _fence(tenure, session, target, app_id, lambda: _stamp(tenure, tenure.read_run(), app_id, marker, None))


def _fence(tenure: Tenure, session: EngineSession, target: Target, app_id: str, stamp: Callable[[], Stamp]) -> None:
    fence = MarkedCommit(
        target=target,
        stamp=stamp,
        send=lambda stamp: session.mark(target, stamp),
        tries=FENCE_TRIES,
        exhausted=lambda: _fence_failed(tenure, app_id),
        look_first=True,
        settled_by_log=False,
    )
    commit_until_marked(tenure, fence)


def _stamp(tenure: Tenure, run: Run, app_id: str, marker: Marker, slot: int | None) -> Stamp:
    note = Note(
        kind=NoteKind.FENCE,
        definition=tenure.name,
        run=tenure.run_id,
        generation=marker.generation,
        unit=slot,
        chunk=marker.chunk,
        inputs=digests(run.plan.pins),
    )
    return Stamp(app_id=app_id, marker=marker, note=note)


def _fence_failed(tenure: Tenure, app_id: str) -> Retry:
    return Retry(
        "fence_failed",
        f"the marker {app_id} could not be fenced in {FENCE_TRIES} tries",
        left="Nothing was applied; the run keeps all chunks that it has committed.",
        next=f"Run `airflow-refresh run {tenure.name}` again.",
    )
