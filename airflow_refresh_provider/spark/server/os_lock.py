"""Locks that the operating system holds for a file descriptor and drops with the last copy of it.

They need no cleaning up after a crash, and neither age nor process ids say anything about them: such a lock is free
exactly when every process that has the descriptor is gone or has closed it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_LOOK_EVERY = 0.1


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """The descriptor that holds the lock, or None while another process does. Closing it releases it.

    Any number may hold it `shared` at once, and no other process then.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with ExitStack() as on_failure:
        on_failure.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        on_failure.pop_all()
    return descriptor


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock during the block. Raises TimeoutError when it does not come free in time."""
    end = time.monotonic() + seconds
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{path} is held by another process")
        time.sleep(_LOOK_EVERY)
    try:
        yield
    finally:
        os.close(descriptor)
