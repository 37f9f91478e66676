"""The requests that wait for the run in progress to end: which one is next, which are equal, which a run serves.

A run in a record has its pins, which are older than any request that finds it: no request is merged with a run, only
with an equal one that waits. A request leaves the queue in the write that starts its run.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request, Serves
from airflow_refresh_provider.core.text.stored import Stored

MOST_WAITING = 16
"""Requests of one definition that may wait."""


class QueuedOptions(Stored):
    """What a request asks of its run, as in `Request`.

    What is asked of the process is not part of it (workers), nor what is asked of an unfinished run: that goes first.
    """

    mode: Mode | None = None
    force: bool = False
    strict: bool = False
    until: str | None = None
    budget_seconds: int | None = None
    budget_bytes: str | None = None
    no_budget: bool = False

    @classmethod
    def of(cls, request: Request) -> QueuedOptions:
        """Those of a request."""
        return cls(**{name: getattr(request, name) for name in cls.model_fields})

    def applied_to(self, request: Request) -> Request:
        """A request with these options instead of its own."""
        return request.model_copy(update=dict(self))

    def equals(self, other: QueuedOptions) -> bool:
        """Whether one run does what both ask for, however their budgets are written."""
        return self._meaning() == other._meaning()

    def _meaning(self) -> tuple[object, ...]:
        budget = self.applied_to(Request()).budget(None)
        return self.mode, self.force, self.strict, budget, self.no_budget and budget is None


class QueuedRequest(Stored):
    """A request that waits. `by` asked for it first, `at` that time; `origin` is what it was asked for, such as a DAG
    run; `scheduled`: no person asked for it.
    """

    id: str
    options: QueuedOptions = QueuedOptions()
    priority: int = 50
    by: str
    at: datetime
    origin: str | None = None
    scheduled: bool = False

    def merged_with(self, other: QueuedRequest) -> QueuedRequest:
        """This request, as urgent as the more urgent of two equal ones, and as much by hand."""
        return self.model_copy(
            update={
                "priority": max(self.priority, other.priority),
                "scheduled": self.scheduled and other.scheduled,
            }
        )


Queue = tuple[QueuedRequest, ...]


class Placed(NamedTuple):
    """A queue with a new request in it, and the request that stands for it; `merged`: an equal one waited before."""

    queue: Queue
    request: QueuedRequest
    merged: bool


class Served(NamedTuple):
    """The request that a run is started with, and the ids of those that wait and are served by it."""

    request: Request
    ids: tuple[str, ...] = ()


def in_order(queue: Iterable[QueuedRequest]) -> Queue:
    """By priority, then by age."""
    return tuple(sorted(queue, key=lambda one: (-one.priority, one.at, one.id)))


def placed(queue: Queue, request: QueuedRequest) -> Placed | None:
    """The queue with a request; None where it is full."""
    same = next((one for one in queue if one.options.equals(request.options)), None)
    if same is not None:
        merged = same.merged_with(request)
        return Placed(in_order(merged if one is same else one for one in queue), merged, merged=True)
    if len(queue) >= MOST_WAITING:
        return None
    return Placed(in_order((*queue, request)), request, merged=False)


def served(queue: Queue, request: Request) -> Served:
    """What a run that is started for a request serves.

    A request by hand keeps its own options, and serves an equal one that waits. A scheduled one, or that of a process
    that asks for what is due, is the first that waits. One whose inputs are pinned already serves none: the pins may be
    older than what waits.
    """
    if request.pins:
        return Served(request)
    if queue and request.serves is not Serves.EQUAL:
        first = in_order(queue)[0]
        effective = first.options.applied_to(request).model_copy(update={"scheduled": first.scheduled})
        return Served(effective, (first.id,))
    own = QueuedOptions.of(request)
    return Served(request, tuple(one.id for one in queue if one.options.equals(own)))


def without(queue: Queue, ids: Iterable[str]) -> Queue:
    """The requests that still wait."""
    gone = frozenset(ids)
    return tuple(one for one in queue if one.id not in gone)


class WaitingRequest(QueuedRequest):
    """A request that waits for the run of the definition `name` to end; the one in the first `place` is next."""

    name: str
    place: int


class Unqueued(Stored):
    """A request that was removed from the queue of a definition, in which so many still wait."""

    name: str
    request: QueuedRequest
    waiting: int
