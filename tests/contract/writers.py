"""What the processes of the racing tests do: commit to the control tables as fast as they can."""

from __future__ import annotations

import sys

from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import StaleSnapshot
from tests.contract.samples import REGISTER, event_row, moment, progress_row, record


def race(root: str, name: str, rounds: int) -> int:
    """Try once for each generation up to `rounds`; how many were won."""
    store = DeltaControlStore(root)
    won = 0
    while True:
        view = store.read(name)
        generation = view.record.generation if view.record else 0
        if generation == rounds:
            return won
        try:
            store.commit(view, record(name, generation + 1), REGISTER, moment(generation))
            won += 1
        except StaleSnapshot:
            continue


def write_for_ever(root: str, name: str) -> None:
    """Transitions, progress and events without end; a line on stdout for each transition that was stored."""
    store = DeltaControlStore(root)
    while True:
        view = store.read(name)
        generation = (view.record.generation if view.record else 0) + 1
        store.commit(view, record(name, generation), REGISTER, moment(generation))
        sys.stdout.write(f"{generation}\n")
        sys.stdout.flush()
        store.add_progress([progress_row(name, "r1", generation % 4, generation, generation)])
        store.add_event(event_row(name, "tick", generation))


if __name__ == "__main__":
    write_for_ever(*sys.argv[1:3])
