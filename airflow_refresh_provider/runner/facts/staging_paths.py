"""Folders below the staging root: their names, and which of them are no longer needed.

A definition has a folder, with one for each run and each comparison, and one for the checksums of its published rows.
Control tables name those of runs and of checksums; those of comparisons have their start time in the name.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.tasks import Stamp

COMPARISON_KEPT = timedelta(days=1)
"""Longer than any comparison takes: what is older was left by one that was killed."""

_COMPARISON = "compare-"
_CHECKSUMS = "checksums-"
_STAGED = Marker(1, 1)
"""The marker of every staged commit: its appId is unique to what it stages, so one number is enough."""


def of_run(ports: Ports, name: str, run_id: str) -> str:
    """The folder of one run."""
    return f"{_folder(ports, name)}/{run_id}"


def of_comparison(ports: Ports, name: str, comparison_id: str) -> str:
    """The folder of a comparison that begins now."""
    return f"{_folder(ports, name)}/{_started_at(ports.clock.now())}-{comparison_id}"


def of_checksums(ports: Ports, run: Run) -> str:
    """Where a run puts the checksums of the rows that it publishes: they outlive it.

    Named by generation, so that a late statement of an old owner cannot mix with it.
    """
    return f"{_folder(ports, run.definition.name)}/{_CHECKSUMS}{run.run_id}-{run.generation}"


def changes_of(run: Run, generation: int, kind: str = "changes") -> tuple[str, Stamp]:
    """Where the next change set of a run is staged, and the stamp of its commit.

    Each has a folder of its own, named by generation, so that a late statement of an old owner cannot mix with it; and
    by its kind, so that a comparison that replaces a window does not find its changes.
    """
    rounds = len(run.frozen.rounds) if run.frozen else 0
    name = f"{kind}-{generation}-{rounds}"
    return f"{run.plan.staging}/{name}", stamp(run, generation, f"{run.run_id}/{name}")


def gone(ports: Ports, run: Run) -> str | None:
    """Why the staged changes that a run has still to apply are gone; None when they are there, or there are none."""
    current = run.frozen.current if run.frozen else None
    if current is None or current.changes is None or current.reads_inputs or not any(u.chunks for u in current.units):
        return None
    staged, planned = current.changes, sum(c.staged for u in current.units for c in u.chunks)
    if not ports.staging.has(staged):
        return f"the changes that were staged at {staged.location} are gone"
    # A table names its files; of a folder some could be missing unnoticed.
    if staged.version is None and (rows := sum(ports.staging.changes(staged).values())) != planned:
        return f"of the {planned:,} changes that were staged at {staged.location}, {rows:,} are left"
    return None


def stamp(run: Run, generation: int, app_id: str) -> Stamp:
    """The stamp of a staged commit."""
    note = Note(
        kind=NoteKind.CHUNK,
        definition=run.definition.name,
        run=run.run_id,
        generation=generation,
        inputs=digests(run.plan.pins),
    )
    return Stamp(app_id=app_id, marker=_STAGED, note=note)


def drop_orphans(ports: Ports, name: str) -> None:
    """Drop staging that no run names; a late statement of an old owner can create it again after it was dropped.

    Folders are listed before control is read: what a younger run has staged meanwhile is not among them.
    """
    if not (folders := ports.staging.runs(_folder(ports, name))):
        return
    record = ports.store.read(name).record
    for folder in folders:
        if not (record and _is_named(folder, record)) and not _may_be_comparing(folder, ports.clock.now()):
            ports.staging.drop(folder)


def drop_left_by_dropped(ports: Ports) -> None:
    """Drop what late statements have staged for definitions that were dropped meanwhile."""
    for folder in ports.staging.runs(ports.staging_root):
        name = folder.rpartition("/")[2]
        record = ports.store.read(name).record
        if record is not None and record.dropped:
            drop_orphans(ports, name)


def _folder(ports: Ports, name: str) -> str:
    return f"{ports.staging_root}/{name}"


def _is_named(folder: str, record: Record) -> bool:
    """Whether a run in progress has it, or the published rows."""
    run, published = record.run, record.published
    of_run = run and (folder == run.plan.staging or folder.rpartition("/")[2].startswith(f"{_CHECKSUMS}{run.run_id}-"))
    checksums = published.checksums if published and not record.dropped else None
    return bool(of_run) or (checksums is not None and folder == checksums.location)


def _may_be_comparing(folder: str, now: datetime) -> bool:
    """By name alone: names of comparisons sort by their start time."""
    name = folder.rpartition("/")[2]
    return name.startswith(_COMPARISON) and name > _started_at(now - COMPARISON_KEPT)


def _started_at(moment: datetime) -> str:
    # A tenth of a second to import, which a refresh that has nothing to do does not pay.
    import pendulum

    return _COMPARISON + pendulum.instance(moment).in_timezone("UTC").format("YYYYMMDD[T]HHmmss")
