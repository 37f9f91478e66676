"""The implementation of `ports.world`: clock, processes of this host, and beats from a thread."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psutil

from airflow_refresh_provider.core.run.owner import BEAT_EVERY, LOOK_EVERY, Beat, OriginStatus, Owner
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.control import ControlStore
from airflow_refresh_provider.ports.waits import Waits
from airflow_refresh_provider.ports.world import Clock

_CLOCK_SHIFT = 2.0
"""Seconds by which two readings of the start of one process may differ: it is relative to a boot time that changes
when the clock is set."""

_LOOKS_A_BEAT = BEAT_EVERY // LOOK_EVERY

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_SPACE = Path("/proc/self/ns/pid")


class SystemClock:
    """The clock of this host."""

    def now(self) -> datetime:
        """Aware UTC, microseconds."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def process_label(environment: Mapping[str, str]) -> str:
    """What this process is called: who has started it, as far as the environment says it, and which one it is."""
    user = environment.get("USER")
    return f"airflow-refresh{f' of {user}' if user else ''}, process {os.getpid()}"


class LocalProcesses:
    """Processes visible from here; nothing is known about others. `origin_status` answers for origins."""

    def __init__(self, label: str, origin_status: Callable[[str], OriginStatus]) -> None:
        self.origin_status = origin_status
        process = psutil.Process()
        self._this = Owner(
            host=socket.gethostname(),
            boot_id=_boot_id(),
            pid=process.pid,
            started=process.create_time(),
            label=label,
            pid_space=_pid_space(),
            user=os.getuid(),
        )

    def this(self) -> Owner:
        """This process."""
        return self._this

    def alive(self, owner: Owner) -> bool | None:
        """Whether the very process is still there: same boot, same pid, same start time, not a zombie.

        Containers may share host name and boot, and the processes of other users may be hidden.
        """
        if _seen_from(owner) != _seen_from(self._this):
            return None
        if owner.boot_id != self._this.boot_id:
            return False
        try:
            process = psutil.Process(owner.pid)
            same = abs(process.create_time() - owner.started) < _CLOCK_SHIFT
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def new_id(self) -> str:
        """A random UUID."""
        return str(uuid.uuid4())


class StoredHeart:
    """Beats into the control store from a thread, at once and then every BEAT_EVERY, and looks into it more often."""

    def __init__(self, store: ControlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waits = Waits()

    def waits(self, run_id: str, unit: int, until: datetime | None) -> None:
        """Until when a unit waits; the next beats of it and of its run say it."""
        self._waits.put(run_id, unit, until)

    @contextmanager
    def beating(
        self, name: str, run_id: str, unit: int | None, generation: int, interrupt: Callable[[], object]
    ) -> Iterator[None]:
        """Beat until the block ends. A beat or a look that fails is left out: it says nothing about the work."""
        stop = threading.Event()

        def beat() -> None:
            held = True
            for look in count():
                with suppress(RefreshError):
                    if held and look % _LOOKS_A_BEAT == 0:
                        self._store.beat(name, run_id, unit, self._beat(run_id, unit, generation))
                with suppress(RefreshError):
                    held = _holds(self._store.read(name).record, run_id, unit, generation)
                    if not held:
                        interrupt()
                if stop.wait(LOOK_EVERY.total_seconds()):
                    return

        thread = threading.Thread(target=beat, name=f"beat-{run_id}-{unit}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(timeout=BEAT_EVERY.total_seconds())

    def _beat(self, run_id: str, unit: int | None, generation: int) -> Beat:
        return Beat(generation=generation, at=self._clock.now(), waits=self._waits.of(run_id, unit))


def _holds(record: Record | None, run_id: str, unit: int | None, generation: int) -> bool:
    run = record.run if record else None
    return run is not None and run.run_id == run_id and run.is_held(unit, generation)


def _seen_from(owner: Owner) -> tuple[str, str | None, int | None]:
    """Where a process is visible."""
    return owner.host, owner.pid_space, owner.user


def _pid_space() -> str | None:
    """The PID namespace of this process; None where the system has none."""
    try:
        return str(_PID_SPACE.readlink())
    except OSError:
        return None


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return str(psutil.boot_time())
