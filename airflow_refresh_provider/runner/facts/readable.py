"""How long the last refresh can be read at the version that readers have, and when a view needs a newer one.

Spark refuses a version that is not the newest once it is older than the table keeps removed files. `published()` asks
the log each time; a view names the version of the day when it was made.
"""

from __future__ import annotations

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


def readable_until(ports: Ports, definition: Definition, published: Published, newest: int) -> datetime | None:
    """From when on Spark refuses the version that readers have: that of the view, where there is one.

    None while that version is the newest of its table, which is at version `newest`.
    """
    location = definition.target
    given = _of_view if definition.view else targets.readable_version
    version = newest if newest <= published.seal_version else given(ports, published, location)
    return None if version >= newest else ports.log.readable_until(location, version)


def view_expires(ports: Ports, definition: Definition, published: Published, newest: int) -> bool:
    """Whether Spark soon refuses the version that the view names, although a newer one has the same rows."""
    if not definition.view:
        return False
    until = readable_until(ports, definition, published, newest)
    if until is None or until - ports.clock.now() > min(_AHEAD, (until - published.at) / 2):
        return False
    location = definition.target
    return targets.readable_version(ports, published, location) > _of_view(ports, published, location)


def _of_view(ports: Ports, published: Published, location: str) -> int:
    """The oldest version that the view can name: it was made after the seal."""
    try:
        since = ports.log.commits(location, after=published.version, upto=published.seal_version)
    except LogGap:
        return published.version
    return last_equal(since, published.target_id, published.version)
