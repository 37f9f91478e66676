"""What the target's log says of one run: its commits, its seal, and how many of its chunks are in."""

from __future__ import annotations

from airflow_refresh_provider.core.log.commits import Commit, chunk_reached, chunks_done
from airflow_refresh_provider.core.log.marker import slot_app_id
from airflow_refresh_provider.core.log.seal import Seal, find_seal
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen_or_none
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap


def readable(ports: Ports, held: FrozenRun) -> tuple[tuple[Commit, ...], bool]:
    """The commits since a run started, as far as the log reaches back, and whether these are all."""
    first_base, location = held.frozen.first_base, held.target.location
    try:
        return ports.log.commits(location, after=first_base), True
    except LogGap:
        after = max(first_base, ports.log.oldest(location) - 1)
        return ports.log.commits(location, after=after), after == first_base


def seal_of(ports: Ports, run: Run) -> Seal | None:
    """The seal of a run, None when it is not sealed. Raises LogGap when the log no longer shows whether it is."""
    held = frozen_or_none(run)
    if held is None:
        return None
    commits, complete = readable(ports, held)
    found = find_seal(commits, held.target.table_id, run.run_id)
    if found is None and not complete:
        raise LogGap(held.target.location)
    return found


def last_chunk(ports: Ports, held: FrozenRun, slot: int, generations: tuple[int, ...]) -> int:
    """The last chunk done on a slot, by the commits of the run; by the newest marker where these were cleaned out.

    A fence may hide a chunk from the newest marker. That is enough to fence: a run whose commits are gone is abandoned.
    """
    try:
        commits = ports.log.commits(held.target.location, after=held.frozen.first_base)
        return chunks_done(commits, held.target.table_id, slot, generations)
    except LogGap:
        return marked_chunks(ports, held, generations).get(slot, 0)


def marked_chunks(ports: Ports, held: FrozenRun, generations: tuple[int, ...]) -> dict[int, int]:
    """Slot -> the chunk of this run at which its newest marker stands; exact once the slot is fenced."""
    markers = ports.log.markers(held.target.location)
    table_id = held.target.table_id
    return {s: chunk_reached(markers.get(slot_app_id(table_id, s)), generations) for s in held.frozen.slots}
