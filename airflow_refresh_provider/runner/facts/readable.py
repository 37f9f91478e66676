"""How long the last refresh can be read at the version that readers have, and when a view needs a newer one.

Spark refuses a version that is not the newest once it is older than the table keeps removed files. `published()` asks
the log each time; a view names the version of the day when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.log.commits import last_equal
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts import targets

_AHEAD = timedelta(days=2)
"""How long before Spark refuses the version of a view it is made again: a definition is refreshed at least as often.

Half of the time for which it could be read, where that is shorter: each refresh may be followed by an OPTIMIZE.
"""


@dataclass(frozen=True)
class Readability:
    """`until`: from when on Spark refuses the version that readers have, that of the view where there is one; None
    while that is the newest. `view_expires`: soon, and a newer version has the same rows.
    """

    until: datetime | None = None
    view_expires: bool = False


def readability(ports: Ports, definition: Definition, published: Published, newest: int) -> Readability:
    """How long the last refresh can be read in its table, which is at version `newest`."""
    if newest <= published.seal_version:
        return Readability()
    location, view = definition.target, bool(definition.view)
    given = (_of_view if view else targets.readable_version)(ports, published, location)
    until = None if given >= newest else ports.log.readable_until(location, given)
    soon = until is not None and _is_soon(ports.clock.now(), published, until)
    return Readability(until, view and soon and targets.readable_version(ports, published, location) > given)


def _is_soon(now: datetime, published: Published, until: datetime) -> bool:
    return until - now <= min(_AHEAD, (until - published.at) / 2)


def _of_view(ports: Ports, published: Published, location: str) -> int:
    """The oldest version that the view can name: it was made after the seal."""
    try:
        since = ports.log.commits(location, after=published.version, upto=published.seal_version)
    except LogGap:
        return published.version
    return last_equal(since, published.target_id, published.version)
