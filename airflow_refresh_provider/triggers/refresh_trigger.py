"""Polling a definition until a condition is met. Reads control tables and logs of inputs; needs no Spark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.signals import metrics

_LAST_RUN = {"run_id", "outcome", "at", "code", "reason"}


@dataclass(frozen=True)
class Condition:
    """What to wait for: one of some states, a refresh published after a moment (ISO 8601 with zone), no pause, a target
    at most `max_lag` seconds behind its inputs.

    `run_id`: the run that is waited for with a pause; it is waited for no longer once it was cancelled or has ended.
    """

    states: tuple[str, ...] = ()
    published_after: str | None = None
    unpaused: bool = False
    max_lag: float | None = None
    run_id: str | None = None

    def is_met(self, status: DefinitionStatus) -> bool:
        """Whether a definition meets it, but for the lag."""
        if self.states and status.state not in self.states:
            return False
        if self.unpaused and status.paused and not self._is_over(status):
            return False
        if self.published_after is None:
            return True
        return status.published_at is not None and status.published_at > datetime.fromisoformat(self.published_after)

    def _is_over(self, status: DefinitionStatus) -> bool:
        """Whether the run that is waited for was cancelled, or has ended."""
        run = status.run
        return self.run_id is not None and (run is None or run.run_id != self.run_id or run.cancelled is not None)


def seen(status: DefinitionStatus) -> dict[str, Any]:
    """The payload of the trigger event: what a task that has waited returns."""
    return {
        "name": status.name,
        "state": status.state,
        "published_version": status.published_version,
        "published_at": status.published_at.isoformat() if status.published_at else None,
        "input_versions": dict(status.input_versions),
        "cancelled": cancelled(status),
        "last_run": status.last_run.model_dump(mode="json", include=_LAST_RUN) if status.last_run else None,
    }


def cancelled(status: DefinitionStatus) -> str | None:
    """That a run was cancelled, and what the next one does; None where none was."""
    run = status.run
    return f"{run.cancelled.text}; {run.cancelled.then}" if run and run.cancelled else None


class RefreshTrigger(BaseTrigger):
    """Fires once the condition is met. It keeps no state, so any triggerer can run it again.

    Control tables that cannot be reached are polled again.
    """

    def __init__(self, *, name: str, places: dict[str, str], condition: dict[str, Any], every: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.places = places
        self.condition = condition
        self.every = every

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class path and the arguments."""
        arguments = {"name": self.name, "places": self.places, "condition": self.condition, "every": self.every}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event, with the definition's status."""
        condition = Condition(**(self.condition | {"states": tuple(self.condition["states"])}))
        while True:
            with suppress(Retry):
                is_met, found = await asyncio.to_thread(look, Places(**self.places), self.name, condition)
                if is_met:
                    yield TriggerEvent(found)  # type: ignore[no-untyped-call]
                    return
            await asyncio.sleep(self.every)


def trigger_for(name: str, places: Places, condition: Condition, every: float) -> RefreshTrigger:
    """The trigger that waits for a condition."""
    return RefreshTrigger(name=name, places=asdict(places), condition=asdict(condition), every=every)


def look(places: Places, name: str, condition: Condition) -> tuple[bool, dict[str, Any]]:
    """Whether a condition is met now, and the payload. Raises errors.*"""
    from airflow_refresh_provider.compose import refreshes

    found = refreshes(places)
    status = found.stored(name)
    if condition.max_lag is None:
        return condition.is_met(status), seen(status)
    [fresh] = found.freshness(name)
    metrics.behind(name, fresh.lag_seconds, fresh.target_lag_seconds, late=fresh.late)
    metrics.retention(name, fresh.kept_until - found.ports.clock.now() if fresh.kept_until else None)
    lag = None if fresh.overwritten_reason else fresh.lag_seconds  # rows of others are not those of the query
    soon_enough = lag is not None and lag <= condition.max_lag
    return soon_enough and condition.is_met(status), seen(status) | {"lag_seconds": fresh.lag_seconds}
