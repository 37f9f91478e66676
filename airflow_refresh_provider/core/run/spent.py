"""What a run has spent so far: time of processes, time in Spark, bytes written."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.text.stored import Stored


class Spent(Stored):
    """What the processes of a run have spent, over all its attempts, as far as they have stored it.

    `worked_seconds`: while a process held the run or a unit of it, without the time between attempts and tasks; units
    that are merged in parallel are added up. `spark_seconds` of these were spent in operations of Spark, as its client
    measures them. `bytes_written`: data files that the run has added to its target.
    """

    worked_seconds: float = 0.0
    spark_seconds: float = 0.0
    bytes_written: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            worked_seconds=round(self.worked_seconds + other.worked_seconds, 3),
            spark_seconds=round(self.spark_seconds + other.spark_seconds, 3),
            bytes_written=self.bytes_written + other.bytes_written,
        )

    def without(self, part: Spent) -> Spent:
        """What is left of it."""
        return Spent(
            worked_seconds=round(max(0.0, self.worked_seconds - part.worked_seconds), 3),
            spark_seconds=round(max(0.0, self.spark_seconds - part.spark_seconds), 3),
            bytes_written=max(0, self.bytes_written - part.bytes_written),
        )


def total(parts: Iterable[Spent]) -> Spent:
    """All of them together."""
    return sum(parts, Spent())
