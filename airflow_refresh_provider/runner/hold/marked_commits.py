"""The one writer of commits with a marker to a target: chunks, fences and seals.

An error or an empty answer does not decide whether a commit is in; the marker in the target's log does. A commit is
sent until its marker is there. It is lost if a younger marker is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from airflow_refresh_provider.core.log.commits import Commit, Standing, standing
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.errors import Conflict, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.hold.losses import lost
from airflow_refresh_provider.runner.hold.tenure import Tenure


@dataclass(frozen=True)
class MarkedCommit:
    """A commit to a target and what differs between chunks, fences and seals.

    `stamp` is called before each look at the log: a fence moves up to a chunk that came just before it.
    `before` each try and `again` after a try whose marker is not in the log may raise; `again` gets the Conflict of the
    try, if it had one, and how many tries are left. `look_first`: the marker may be in before the first try.
    `settled_by_log`: an error of unknown outcome is dropped when the marker is in the log.
    """

    target: Target
    stamp: Callable[[], Stamp]
    send: Callable[[Stamp], None]
    tries: int
    exhausted: Callable[[], Retry]
    before: Callable[[], object] = lambda: None
    again: Callable[[Conflict | None, int], object] = lambda _conflict, _left: None
    look_first: bool = False
    settled_by_log: bool = True


def commit_until_marked(tenure: Tenure, wanted: MarkedCommit) -> Stamp:
    """Send a commit until its marker is in the target's log; returns the stamp that is there.

    Raises Lost when a younger marker is there, Retry when the outcome stays unknown or no try got through.
    """
    stamp = wanted.stamp()
    if wanted.look_first and _is_in_log(tenure, wanted.target, stamp):
        return stamp
    for left in reversed(range(wanted.tries)):
        conflict: Conflict | None = None
        wanted.before()
        try:
            wanted.send(stamp)
        except Conflict as error:
            conflict = error
        except Retry:
            if not (wanted.settled_by_log and _is_in_log(tenure, wanted.target, stamp)):
                raise
            return stamp
        stamp = wanted.stamp()
        if _is_in_log(tenure, wanted.target, stamp):
            return stamp
        wanted.again(conflict, left)
    raise wanted.exhausted()


def commit_of(ports: Ports, target: Target, stamp: Stamp, after: int) -> Commit:
    """The commit after a version that carries a marker which was found in the log.

    Raises Failed where it is not there: then the marker was read from a table that has replaced the target.
    """
    for commit in _newest_first(ports, target, after):
        if commit.txns.get(stamp.app_id) == stamp.marker.version:
            return commit
    raise targets.not_in_place(target)


def _is_in_log(tenure: Tenure, target: Target, stamp: Stamp) -> bool:
    """Whether the marker is the newest of its appId. Raises Lost when a younger one is."""
    found = standing(tenure.ports.log.markers(target.location).get(stamp.app_id), stamp.marker)
    if found is Standing.YOUNGER:
        raise lost(tenure.ports, tenure.name, tenure.run_id)
    return found is Standing.MINE


def _newest_first(ports: Ports, target: Target, after: int) -> Iterator[Commit]:
    """The commits after a version; the wanted one mostly is the newest."""
    for version in range(ports.log.newest(target.location), after, -1):
        yield from ports.log.commits(target.location, after=version - 1, upto=version)
