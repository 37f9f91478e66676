"""What the end of a run adds to the measured refreshes of its definition."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import size_of
from airflow_refresh_provider.core.plan.load_seconds import LoadSeconds
from airflow_refresh_provider.core.plan.plan import Frozen
from airflow_refresh_provider.core.plan.reasons import BY_COST
from airflow_refresh_provider.core.run.measured import KEPT, ChangesSeconds, Measured, WholeSeconds
from airflow_refresh_provider.core.run.record import Run


def measured_after(before: Measured, run: Run, worked: float | None) -> Measured:
    """With a run that has ended, whose processes have worked for so many seconds.

    One that was resumed says nothing: an earlier attempt may have done a part. Nor does one that compared again, as
    others had written to its target, or one without changes.
    """
    frozen = run.frozen
    if run.attempts > 1 or worked is None or frozen is None or frozen.seconds is None or len(frozen.rounds) > 1:
        return before
    if frozen.current.changes is None:
        if not frozen.current.units:
            return before
        whole = WholeSeconds(seconds=round(worked, 3), input_bytes=size_of(run.plan.pins))
        return before.model_copy(update={"first": whole})
    return _with_load(_with_rest(before, worked - frozen.seconds.total), run, frozen, frozen.seconds)


def _with_rest(before: Measured, rest: float) -> Measured:
    return before.model_copy(update={"rest": (round(max(0.0, rest), 3), *before.rest)[:KEPT]})


def _with_load(before: Measured, run: Run, frozen: Frozen, seconds: LoadSeconds) -> Measured:
    found = before.model_copy(update={"since_tried": before.since_tried + 1})
    if seconds.whole is not None:
        found = found.computed(WholeSeconds(seconds=seconds.whole, input_bytes=size_of(run.plan.pins)))
    if frozen.fell_back and frozen.fell_back.code in BY_COST:
        return found.turned_at(run.plan.change_bytes or 0)
    if seconds.finding is None or seconds.following is None:
        return found
    return found.followed(
        ChangesSeconds(
            finding=seconds.finding,
            following=seconds.following,
            change_bytes=run.plan.change_bytes,
            share=_share(frozen),
        )
    )


def _share(frozen: Frozen) -> float | None:
    """Which share of the target's rows was touched; None where rows were not found by touched values."""
    if not frozen.touched or frozen.touched_rows is None:
        return None
    counts = frozen.counts()
    return round(min(1.0, frozen.touched_rows / max(1, frozen.unchanged + counts.updated + counts.deleted)), 6)
