"""The Spark sessions of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.ports.engine import EngineSession


def sessions_of(run: Run) -> tuple[str, ...]:
    """The sessions that may still run statements for a run."""
    held = {run.lease.session, *(claim.session for claim in run.claims.values()), *run.left_over}
    return tuple(sorted(s for s in held if s))


def close(session: EngineSession | None) -> None:
    """Close a session that may not have been opened."""
    if session is not None:
        session.close()


@contextmanager
def closed_on_failure(session: EngineSession | None) -> Iterator[None]:
    """Close a session if the block raises; else it stays open for the caller."""
    done = False
    try:
        yield
        done = True
    finally:
        if not done:
            close(session)
