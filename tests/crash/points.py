"""The points that matter, by what is about to happen or has just happened there.

In Spark's process a point is a commit, known by its table and the note it carries, or a MERGE that is analysed but
not started. In the client's it is a call of a port.
"""

from __future__ import annotations

from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.lifecycle import Event
from tests.crash.holds import Point

TARGET = "/gold/items/"
STAGING = "/staging/items/"
_LOG = f"{TARGET}_delta_log/"
BEFORE = "before"
AFTER = "after"


def target_made(when: str) -> Point:
    """The first version of the target."""
    return Point(f"{when}_commit", f"{_LOG}{0:020}.json")


def staged(when: str) -> Point:
    """A commit of staged data: a split of rows, or a change set."""
    return Point(f"{when}_commit", STAGING)


def chunk(number: int, when: str, way: Way | None = None) -> Point:
    """The commit of a chunk, applied in that way; a fence at that chunk has no way of applying and does not count."""
    applied = f'"way":"{way.value}"' if way else '"way"'
    return Point(f"{when}_commit", _LOG, f'"chunk":{number},{applied}')


def fence(when: str) -> Point:
    """The first fence."""
    return Point(f"{when}_commit", _LOG, '"kind":"fence"')


def seal(when: str) -> Point:
    """The seal, which the client commits."""
    return Point(f"{when}_seals.commit")


def seal_of_spark(when: str) -> Point:
    """The seal of a target that the client leaves to Spark."""
    return Point(f"{when}_commit", _LOG, '"kind":"seal"')


def merge_begins() -> Point:
    """A MERGE into the target before its transaction is open."""
    return Point("before_merge", TARGET.rstrip("/"))


def written(place: str) -> Point:
    """A file of rows, where the disk may be full. No process is stopped there."""
    return Point("write", place)


def stored(event: Event, when: str) -> Point:
    """A transition in the control tables."""
    return Point(f"{when}_store.commit", content=event.value)


def progress(when: str) -> Point:
    """The progress rows of a chunk, written after its commit."""
    return Point(f"{when}_store.add_progress")


def small_table(when: str) -> Point:
    """The one commit of a target that the client rewrites."""
    return Point(f"{when}_small_tables.rewrite")


def staging_dropped(when: str) -> Point:
    """The removal of the run's staging."""
    return Point(f"{when}_staging.drop", STAGING)
