"""Results of Spark applications: one small object each in the control root, under an id chosen by the submitter.

The control root is the one location that submitter and application can both reach. A result is read once; one that is
never read is deleted when a later result of the same definition is read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.delta.storage.object_stores import open_store, storage

_EXPIRES_AFTER = timedelta(days=1)


@dataclass(frozen=True)
class ApplicationResults:
    """The results in one control root."""

    root: str

    def put(self, name: str, result_id: str, text: str) -> None:
        """Write the result for a definition. Does nothing if the control root no longer exists."""
        with storage("writing the application's result", self.root):
            store = open_store(self.root)
            if store is not None:
                obstore.put(store, _path(name, result_id), text.encode())

    def take(self, name: str, result_id: str) -> str | None:
        """Read and delete a result; None when there is none."""
        with storage("reading the application's result", self.root):
            store = open_store(self.root)
            if store is None:
                return None
            try:
                text = bytes(obstore.get(store, _path(name, result_id)).bytes()).decode()
            except FileNotFoundError:
                return None
            for path in (_path(name, result_id), *_expired(store, name)):
                with suppress(FileNotFoundError):
                    obstore.delete(store, path)
            return text


def _path(name: str, result_id: str) -> str:
    return f"application_results/{name}/{result_id}.json"


def _expired(store: ObjectStore, name: str) -> list[str]:
    limit = datetime.now(UTC) - _EXPIRES_AFTER
    listed = obstore.list(store, f"application_results/{name}/")
    return [str(o["path"]) for batch in listed for o in batch if o["last_modified"] < limit]
