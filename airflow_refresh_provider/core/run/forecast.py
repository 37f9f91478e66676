"""What is to be expected of a table: when it becomes late, when its run ends, and which changes are lost before it.

All of it follows from what a look has found; nothing is stored, and each look says it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_refresh_provider.core.run.durations import Usual
from airflow_refresh_provider.core.text.stored import Stored


class InputForecast(Stored):
    """An input with changes that are not applied and expire: later than `lost_at` they may be deleted, and the next
    refresh then compares everything. `before_next`: that is before the next refresh has read them.
    """

    name: str
    lost_at: datetime
    before_next: bool = False


class Forecast(Stored):
    """What is to be expected. `late_at`: when the target becomes late, or became late, if nothing refreshes it; null
    while it has all changes, and without a `target_lag`. `expected_end`: when the run in progress ends, by its rate or
    else by what refreshes of its mode usually take, which `usual` then says; null where neither is known.
    `will_be_late`: it is not late yet, and no refresh is expected to end before `late_at`. `inputs`: those whose
    changes expire before they are applied.
    """

    late_at: datetime | None = None
    expected_end: datetime | None = None
    usual: Usual | None = None
    will_be_late: bool = False
    inputs: tuple[InputForecast, ...] = ()

    @property
    def lost_before_next(self) -> tuple[InputForecast, ...]:
        """The inputs whose changes are lost before the next refresh, the first to be lost first."""
        return tuple(sorted((one for one in self.inputs if one.before_next), key=lambda one: one.lost_at))


@dataclass(frozen=True)
class RunAhead:
    """A run in progress: `seconds_left` by its rate, `staged` once it needs the changes of its inputs no more."""

    started_at: datetime
    seconds_left: float | None = None
    staged: bool = False


@dataclass(frozen=True)
class ForecastFacts:
    """What a look has found. `oldest`: of the changes that are not applied; `next_at`: when a refresh is due, None
    where that is not known, as where only Airflow's own schedule says it; `halted`: none starts before the definition
    is resumed. `usual`: how long refreshes of the mode of the run in progress, or else of the last one, usually take.
    """

    now: datetime
    target_lag: timedelta | None = None
    oldest: datetime | None = None
    lost_at: Mapping[str, datetime] | None = None
    next_at: datetime | None = None
    halted: bool = False
    usual: Usual | None = None
    run: RunAhead | None = None


def forecast(facts: ForecastFacts) -> Forecast:
    """What is to be expected."""
    late_at = facts.oldest + facts.target_lag if facts.oldest and facts.target_lag else None
    end = _end_of_run(facts, facts.run) if facts.run else None
    return Forecast(
        late_at=late_at,
        expected_end=end,
        usual=facts.usual if end and facts.run and facts.run.seconds_left is None else None,
        will_be_late=late_at is not None and late_at > facts.now and _comes_after(facts, late_at, end),
        inputs=tuple(
            InputForecast(name=name, lost_at=at, before_next=_lost(facts, at, end))
            for name, at in (facts.lost_at or {}).items()
        ),
    )


def _end_of_run(facts: ForecastFacts, run: RunAhead) -> datetime | None:
    """By its rate, else as long after its start as it usually takes; None once it has taken longer."""
    if run.seconds_left is not None:
        return facts.now + timedelta(seconds=run.seconds_left)
    if facts.usual is None:
        return None
    usual = run.started_at + timedelta(seconds=facts.usual.seconds)
    return usual if usual > facts.now else None


def _comes_after(facts: ForecastFacts, moment: datetime, end: datetime | None) -> bool:
    """Whether the run in progress, or else the next one, ends after a moment; not where that is unknown."""
    if facts.run:
        return end is not None and end > moment
    if facts.halted or facts.next_at is None:
        return facts.halted
    return max(facts.next_at, facts.now) + timedelta(seconds=facts.usual.seconds if facts.usual else 0) > moment


def _lost(facts: ForecastFacts, at: datetime, end: datetime | None) -> bool:
    """Whether changes are lost before they are read; a run that has staged them needs them no more."""
    if facts.run and facts.run.staged:
        return False
    return at <= facts.now or _comes_after(facts, at, end)
