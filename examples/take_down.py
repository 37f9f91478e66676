"""End the `make up` of this checkout from another terminal: `make down`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from examples import parked, recorded
from examples.lake import Lake
from examples.local_airflow import places_of, stop_spark
from examples.processes import end, has_ended, working_for
from examples.recorded import UP, Recorded

CHECKOUT = Path(__file__).parents[1]
_PATIENCE_SECONDS = 300
"""Ending fences what tasks have left, which takes minutes on an overloaded machine."""


def main() -> None:
    """Ask the program to end, as Ctrl-C does; if it is gone, end what it has left."""
    lake = Lake(CHECKOUT / ".demo")
    sys.exit(down(lake))


def down(lake: Lake) -> str | None:
    """End what the record of this folder names, and nothing else. Returns what went wrong, None if nothing did."""
    found = recorded.load(lake.root)
    program = next((one.process() for one in found if one.name == UP), None)
    if program is not None:
        print(f"Ending `make up` (process {program.pid}) ...", flush=True)
        program.send_signal(signal.SIGINT)
        if not has_ended(program, _PATIENCE_SECONDS):
            return f"`make up` (process {program.pid}) has not ended within {_PATIENCE_SECONDS} s."
    elif not _end_left(lake, found):
        print("No `make up` is running here.", flush=True)
    if others := working_for(lake.root):
        pids = ", ".join(str(process.pid) for process in others)
        return (
            f"The processes {pids} still work in {lake.root}; `make up` has no record of them, so they were not ended."
        )
    return None


def _end_left(lake: Lake, found: list[Recorded]) -> bool:
    """End the components, and the tasks below them, of a `make up` that was killed; whether there were any."""
    components = [process for one in found if (process := one.process())]
    if not found:
        return False
    below = [child for process in components for child in process.children(recursive=True)]
    print(f"`make up` was killed; ending what it has left: {[process.pid for process in components]} ...", flush=True)
    end([*components, *below])
    parked.release(places_of(lake))
    stop_spark(lake)
    recorded.forget(lake.root)
    return True


if __name__ == "__main__":
    main()
