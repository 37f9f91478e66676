"""Folders whose permissions are taken away for a while, for root too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNPRIVILEGED = 65534


@contextmanager
def without_rights(folder: Path, mode: int) -> Iterator[None]:
    """Take permissions on everything in a folder; root, which ignores permissions, becomes another user meanwhile."""
    paths = [folder, *folder.rglob("*")]
    before = [(path, path.stat().st_mode) for path in paths]
    for path in reversed(paths):
        path.chmod(mode)
    root = os.geteuid() == 0
    if root:
        os.seteuid(_UNPRIVILEGED)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path, rights in before:
            path.chmod(rights)
