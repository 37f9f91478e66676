"""Search over schedules: all with up to so many deviations, each found by replaying the ones before it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.model.actors import Schedule, Turn

Points = list[tuple[str, ...]]


@dataclass(frozen=True)
class Played:
    """One execution: where it could have deviated, what it did, and what was wrong with the end."""

    points: Points
    trace: list[str]
    violations: list[str]


@dataclass(frozen=True)
class Found:
    """What a search came to: how many schedules were played, and the first bad one."""

    schedules: int
    schedule: Schedule = ()
    played: Played | None = None

    def __str__(self) -> str:
        if self.played is None:
            return f"{self.schedules} schedules, no violation"
        return "\n".join((*self.played.trace, "VIOLATED:", *self.played.violations))


def search(play: Callable[[Schedule], Played], deviations: int, at_most: int | None = None) -> Found:
    """Play every schedule with up to `deviations` deviations, or a fixed sample of about `at_most` of them."""
    count = 0
    for schedule, played in _schedules(play, deviations, at_most):
        count += 1
        if played.violations:
            return Found(count, schedule, played)
    return Found(count)


def _schedules(
    play: Callable[[Schedule], Played], deviations: int, at_most: int | None
) -> Iterator[tuple[Schedule, Played]]:
    """Fewest deviations first; of each level a sample, spread by a fixed seed."""
    level: list[Schedule] = [()]
    for depth in range(deviations + 1):
        longer: list[Schedule] = []
        for schedule in _sample(level, at_most if depth > 1 else None):
            played = play(schedule)
            yield schedule, played
            if depth < deviations:
                longer += _extended(schedule, played.points)
        level = longer


def _sample(level: list[Schedule], at_most: int | None) -> list[Schedule]:
    """In mixed order, so that what is alike is not played all at once."""
    return random.Random(1).sample(level, len(level) if at_most is None else min(at_most, len(level)))


def _extended(schedule: Schedule, points: Points) -> Iterator[Schedule]:
    after = schedule[-1].point + 1 if schedule else 0
    for point in range(after, len(points)):
        for then in points[point]:
            yield (*schedule, Turn(point, then))
