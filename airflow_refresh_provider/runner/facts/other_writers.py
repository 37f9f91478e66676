"""Who has changed the rows of a target since it was published: other writers, and runs that were abandoned half way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from airflow_refresh_provider.core.log.commits import Commit, foreign
from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.policy import version_range
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap


def commits(
    ports: Ports, published: Published, location: str, generations: tuple[int, ...] = (), upto: int | None = None
) -> tuple[Commit, ...]:
    """The commits by which others have changed rows of a target since it was published. Raises LogGap.

    `generations` are those of a run in progress, which is no other writer. One that was abandoned is.
    """
    since = _since(ports, published, location, upto)
    found = foreign((c for c in since if c.version > published.version), published.target_id, generations).versions
    return tuple(c for c in since if c.version in found or _overwritten(c, published))


def named(found: Sequence[Commit], published: Published, location: str) -> str:
    """Who has made these commits, for people."""
    runs = {c.version: run for c in found if (run := _run_of(c, published))}
    others = [c.version for c in found if c.version not in runs]
    said = []
    if others:
        said.append(f"others have written the target {location} since the last refresh, in {version_range(others)}")
    if runs:
        ids, versions = ", ".join(sorted(set(runs.values()))), version_range(list(runs))
        said.append(f"changes of a run that was not published ({ids}) are in the target {location}, in {versions}")
    return "; ".join(said)


def _run_of(commit: Commit, published: Published) -> str | None:
    """The run of which a commit is a chunk; None where it is of another writer. A RESTORE has no marker."""
    note = read_note(commit.note)
    marked = any(app_id.startswith(f"{published.target_id}/") for app_id in commit.txns)
    return note.run if marked and note is not None and note.run != published.run_id else None


def _since(ports: Ports, published: Published, location: str, upto: int | None) -> tuple[Commit, ...]:
    """The commits after the published version, and the seal, if its file is still there. Raises LogGap."""
    if published.seal_version == published.version:
        with suppress(LogGap):
            return ports.log.commits(location, after=published.version - 1, upto=upto)
    return ports.log.commits(location, after=published.version, upto=upto)


def _overwritten(commit: Commit, published: Published) -> bool:
    """Whether it is in the place of the commit that sealed the run: where storage has no put-if-absent, Spark can
    overwrite one.
    """
    note = read_note(commit.note)
    return commit.version == published.seal_version and (note is None or note.run != published.run_id)
