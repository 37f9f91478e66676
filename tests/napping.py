"""A clock for those who wait while something happens."""

from __future__ import annotations

from collections.abc import Callable

from airflow_refresh_provider.testing.memory_ports import MemoryClock


class Nap(MemoryClock):
    """Something happens during every sleep."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def sleep(self, seconds: float) -> None:
        """Time passes, and it happens."""
        super().sleep(seconds)
        self._meanwhile()
