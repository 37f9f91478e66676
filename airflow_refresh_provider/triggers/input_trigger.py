"""Watching inputs from the triggerer: an event whenever rows of one may have changed. Needs no Spark.

All inputs that one triggerer watches share one loop, which checks them in parallel: a slow one does not delay the
others. A triggerer keeps no state: an input that is seen for the first time counts as changed, and a refresh without
changes costs little. A check that fails is repeated; an input that cannot be read is reported in the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.errors import RefreshError

_MALFORMED = (ValueError, LookupError, TypeError, AttributeError)
"""Errors of a check of a malformed log."""

_PATIENCE = 1.0
"""Seconds for which finished checks wait for the others."""

_log = logging.getLogger(__name__)


class InputTrigger(BaseEventTrigger):
    """Fires whenever rows of an input may have changed. `read` are the input's fields, `every` is in seconds."""

    watched: dict[str, int] = {}
    """Inputs as text -> by how many triggers of this process they are watched."""

    def __init__(self, *, read: dict[str, Any], every: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.read = read
        self.every = every

    @staticmethod
    def look_at(read: Input) -> Callable[[], str]:
        """A look at an input: a text that is another one after rows of it may have changed."""
        from airflow_refresh_provider import compose

        return compose.input_state(read)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {"read": self.read, "every": self.every}

    def shared_stream_key(self) -> Hashable:
        """One loop for all that look equally often."""
        return (type(self).__qualname__, self.every)

    @classmethod
    async def open_shared_stream(cls, kwargs: dict[str, Any]) -> AsyncIterator[str]:
        """The inputs that have changed, one after the other, for ever."""
        looks: dict[str, Callable[[], str]] = {}
        seen: dict[str, str] = {}
        looking: dict[str, asyncio.Task[str | None]] = {}
        try:
            while True:
                for read in cls.watched.keys() - looking.keys():
                    looking[read] = asyncio.create_task(asyncio.to_thread(cls._look, looks, read))
                if looking:
                    await asyncio.wait(looking.values(), timeout=_PATIENCE)
                for read in [read for read, look in looking.items() if look.done()]:
                    found = looking.pop(read).result()
                    if found is not None and found != seen.get(read):
                        seen[read] = found
                        yield read
                for gone in seen.keys() - cls.watched.keys() - looking.keys():
                    del seen[gone], looks[gone]
                await asyncio.sleep(kwargs["every"])
        finally:
            for look in looking.values():
                look.cancel()

    async def filter_shared_stream(self, shared_stream: AsyncIterator[str]) -> AsyncIterator[TriggerEvent]:
        """An event for each change of this input."""
        mine = _text(self.read)
        self.watched[mine] = self.watched.get(mine, 0) + 1
        try:
            async for read in shared_stream:
                if read == mine:
                    yield TriggerEvent({"input": self.read["path"]})  # type: ignore[no-untyped-call]
        finally:
            self.watched[mine] -= 1
            if not self.watched[mine]:
                del self.watched[mine]

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """The same, for a triggerer that shares nothing."""
        async for event in self.filter_shared_stream(self.open_shared_stream({"every": self.every})):
            yield event

    @classmethod
    def _look(cls, looks: dict[str, Callable[[], str]], read: str) -> str | None:
        """What is seen of an input now; None when it cannot be looked at."""
        try:
            if read not in looks:
                looks[read] = cls.look_at(Input.model_validate_json(read))
            return looks[read]()
        except RefreshError as error:
            _log.warning("an input cannot be watched: %s", error.message)
        except _MALFORMED:  # the loop is everybody's: one input must not end the watch over the others
            _log.exception("an input cannot be watched: %s", read)
        return None


def _text(read: dict[str, Any]) -> str:
    return json.dumps(read, sort_keys=True)
