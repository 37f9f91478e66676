"""How much of a run is done, and how long the rest takes at a rate."""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored


class Extent(Stored):
    """Chunks and rows of a run; totals are None until known."""

    chunks_done: int = 0
    chunks_total: int | None = None
    rows_done: int = 0
    rows_total: int | None = None

    @property
    def percent(self) -> float | None:
        """0 to 100, of rows where their total is known, else of chunks; None where neither is."""
        done, total = (self.rows_done, self.rows_total) if self.rows_total else (self.chunks_done, self.chunks_total)
        return None if not total else round(100 * min(done, total) / total, 1)

    def seconds_left(self, rows_per_second: float | None) -> float | None:
        """Until the last row is in, None where that is not known."""
        if not rows_per_second or self.rows_total is None:
            return None
        return round(max(0, self.rows_total - self.rows_done) / rows_per_second, 1)
