"""Beats: one small object per run and unit, overwritten by each sign of life. They never meet a transition."""

from __future__ import annotations

from dataclasses import dataclass

import obstore
from obstore.store import ObjectStore
from pydantic import ValidationError

from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.delta.storage.object_stores import open_store, storage
from airflow_refresh_provider.errors import Invalid


@dataclass(frozen=True)
class Beats:
    """The beats of one control root."""

    root: str

    def put(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        """Overwrite the last beat of a run (unit None) or of one of its units."""
        who = "run" if unit is None else f"unit-{unit}"
        with storage("writing a beat", self.root):
            store = open_store(self.root)
            if store is not None:  # a beat does not create a root that is gone
                obstore.put(
                    store, f"{_folder(name, run_id)}{who}.json", beat.model_dump_json(exclude_none=True).encode()
                )

    def of(self, name: str, run_id: str) -> tuple[Beat, ...]:
        """The last beats of a run and its units. Raises Invalid for one of a newer version: its owner may be alive."""
        with storage("reading beats", self.root):
            store = open_store(self.root)
            if store is None:
                return ()
            found = []
            for path in _paths(store, name, run_id):
                try:
                    found.append(Beat.model_validate_json(bytes(obstore.get(store, path).bytes())))
                except FileNotFoundError:
                    continue  # cleared meanwhile
                except ValidationError as error:
                    if _is_newer(error):
                        raise _newer(self.root, name) from None
                    continue  # not a beat: no sign of life
            return tuple(found)

    def clear(self, name: str, run_id: str) -> None:
        """Remove the beats of a run."""
        with storage("removing beats", self.root):
            store = open_store(self.root)
            if store is None:
                return
            for path in _paths(store, name, run_id):
                try:
                    obstore.delete(store, path)
                except FileNotFoundError:
                    continue


def _is_newer(error: ValidationError) -> bool:
    return any((found["loc"], found["type"]) == (("format",), "less_than_equal") for found in error.errors())


def _newer(root: str, name: str) -> Invalid:
    return Invalid(
        "newer_control_format",
        f"an owner of the run of {name} in {root} has a newer version of airflow-refresh-provider",
        left="Nothing was changed.",
        next="Upgrade airflow-refresh-provider here.",
    )


def _folder(name: str, run_id: str) -> str:
    return f"beats/{name}/{run_id}/"


def _paths(store: ObjectStore, name: str, run_id: str) -> list[str]:
    return [str(o["path"]) for batch in obstore.list(store, _folder(name, run_id)) for o in batch]
