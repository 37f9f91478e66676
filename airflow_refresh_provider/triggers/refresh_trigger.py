"""Looking at a definition's record again and again until it is as wished. Reads control tables only, needs no Spark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_refresh_provider.core.run.results import DefinitionStatus
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.places import Places


@dataclass(frozen=True)
class Wish:
    """What is waited for: a state of several, a refresh published after a moment (ISO 8601 with zone), no pause, a
    target that is no more seconds behind its inputs than `max_lag`.
    """

    states: tuple[str, ...] = ()
    published_after: str | None = None
    unpaused: bool = False
    max_lag: float | None = None

    def granted(self, status: DefinitionStatus) -> bool:
        """Whether a definition is as wished."""
        if self.states and status.state not in self.states:
            return False
        if self.unpaused and status.paused:
            return False
        if self.published_after is None:
            return True
        return status.published_at is not None and status.published_at > datetime.fromisoformat(self.published_after)


def seen(status: DefinitionStatus) -> dict[str, Any]:
    """What a task that has waited returns."""
    return {
        "name": status.name,
        "state": status.state,
        "published_version": status.published_version,
        "published_at": status.published_at.isoformat() if status.published_at else None,
        "input_versions": dict(status.input_versions),
    }


class RefreshTrigger(BaseTrigger):
    """Fires once the definition is as wished. Begun anew elsewhere, it looks anew: it keeps nothing.

    Control tables that cannot be reached for a while are asked again.
    """

    def __init__(self, *, name: str, places: dict[str, str], wish: dict[str, Any], every: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.places = places
        self.wish = wish
        self.every = every

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, as any triggerer can use them."""
        arguments = {"name": self.name, "places": self.places, "wish": self.wish, "every": self.every}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event, with what was seen."""
        wish = Wish(**(self.wish | {"states": tuple(self.wish["states"])}))
        while True:
            with suppress(Retry):
                granted, found = await asyncio.to_thread(look, Places(**self.places), self.name, wish)
                if granted:
                    yield TriggerEvent(found)  # type: ignore[no-untyped-call]
                    return
            await asyncio.sleep(self.every)


def waiting(name: str, places: Places, wish: Wish, every: float) -> RefreshTrigger:
    """The trigger of a wish."""
    return RefreshTrigger(name=name, places=asdict(places), wish=asdict(wish), every=every)


def look(places: Places, name: str, wish: Wish) -> tuple[bool, dict[str, Any]]:
    """Whether a wish is granted now, and what was seen. Raises errors.*"""
    from airflow_refresh_provider.compose import refreshes

    found = refreshes(places)
    status = found.show(name)
    if wish.max_lag is None:
        return wish.granted(status), seen(status)
    [fresh] = found.freshness(name)
    soon_enough = fresh.lag_seconds is not None and fresh.lag_seconds <= wish.max_lag
    return soon_enough and wish.granted(status), seen(status) | {"lag_seconds": fresh.lag_seconds}
