"""Answers of applications: one small object each in the control root, under an id that the starter chose.

The control root is the one place that both can reach, whatever machine the application ran on. An answer is taken once;
one that nobody took is dropped when its definition's next answer is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.delta.storage.object_stores import open_store, storage

_FORGOTTEN_AFTER = timedelta(days=1)


@dataclass(frozen=True)
class Answers:
    """The answers in one control root."""

    root: str

    def put(self, name: str, answer_id: str, text: str) -> None:
        """Leave an answer about a definition. A root that is gone is not made anew by it."""
        with storage("writing the application's answer", self.root):
            store = open_store(self.root)
            if store is not None:
                obstore.put(store, _path(name, answer_id), text.encode())

    def take(self, name: str, answer_id: str) -> str | None:
        """The answer, which is gone afterwards; None when there is none."""
        with storage("reading the application's answer", self.root):
            store = open_store(self.root)
            if store is None:
                return None
            try:
                text = bytes(obstore.get(store, _path(name, answer_id)).bytes()).decode()
            except FileNotFoundError:
                return None
            for path in (_path(name, answer_id), *_forgotten(store, name)):
                with suppress(FileNotFoundError):
                    obstore.delete(store, path)
            return text


def _path(name: str, answer_id: str) -> str:
    return f"answers/{name}/{answer_id}.json"


def _forgotten(store: ObjectStore, name: str) -> list[str]:
    limit = datetime.now(UTC) - _FORGOTTEN_AFTER
    listed = obstore.list(store, f"answers/{name}/")
    return [str(o["path"]) for batch in listed for o in batch if o["last_modified"] < limit]
