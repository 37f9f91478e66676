"""Actors that run real code in greenlets and stop before each step, so that a schedule decides which one continues.

An actor that dies simply never goes on: no handler of its code sees it, as none sees a SIGKILL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from greenlet import GreenletExit, getcurrent, greenlet

from airflow_refresh_provider.errors import Retry

DIE = "dies"
FAIL = "fails"
STATEMENT = ("begin", "commit", "answer")
"""Steps of a statement in Spark; the connection can break at each, and the client does not know how it ended."""


@dataclass(frozen=True)
class Turn:
    """A deviation: at this point the actor dies, its statement fails, or another actor continues in its place."""

    point: int
    then: str


Schedule = tuple[Turn, ...]


@dataclass
class Actor:
    """A process or a writer. `atomic` ones are not interrupted."""

    name: str
    work: Callable[[], object]
    atomic: bool = False
    outcome: object = None
    error: BaseException | None = None
    dead: bool = False
    cut_off: bool = False
    about_to: str = "start"
    thread: greenlet = field(init=False)

    def __post_init__(self) -> None:
        self.thread = greenlet(self._run)

    @property
    def over(self) -> bool:
        return self.dead or self.thread.dead

    def _run(self) -> None:
        try:
            self.outcome = self.work()
        except GreenletExit:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the invariants judge it
            self.error = error


class Stage:
    """Runs actors by a schedule. By default an actor continues to its end, then the one that was interrupted last.

    `points` collects, for each point at which the schedule could have deviated, what else could have happened.
    """

    def __init__(self, actors: Sequence[Actor], schedule: Schedule, *, every_read: bool) -> None:
        self.actors = list(actors)
        self.points: list[tuple[str, ...]] = []
        self.trace: list[str] = []
        self._turns = {turn.point: turn.then for turn in schedule}
        self._every_read = every_read
        self._director = getcurrent()
        self._read_before: dict[str, bool] = {}

    @property
    def acting(self) -> Actor | None:
        now = getcurrent()
        return next((a for a in self.actors if a.thread is now), None)

    def step(self, what: str) -> None:
        """Called by the actor before each step."""
        actor = self.acting
        if actor is None:
            return
        if actor.dead:
            raise GreenletExit
        if actor.atomic or not self._worth_a_point(actor, what):
            self.trace.append(f"{actor.name}: {what}")
            return
        actor.about_to = what
        self._director.switch()
        self.trace.append(f"{actor.name}: {what}")
        if actor.cut_off:
            actor.cut_off = False
            raise _connection_lost()

    def check_alive(self) -> None:
        """Called before steps that no other actor reads."""
        if (actor := self.acting) and actor.dead:
            raise GreenletExit

    def play(self) -> None:
        """Run all actors to their ends."""
        waiting: list[Actor] = []
        fresh = list(self.actors)
        actor = fresh.pop(0)
        while True:
            actor.thread.switch()
            then = None if actor.over else self._decide(actor)
            if then == DIE:
                actor.dead = True
                self.trace.append(f"{actor.name} dies, about to {actor.about_to}")
            elif then == FAIL:
                actor.cut_off = True
                self.trace.append(f"{actor.name} loses the connection, about to {actor.about_to}")
            elif then is not None:
                waiting.append(actor)
                actor = self._named(then, waiting, fresh)
                self.trace.append(f"-- {actor.name} goes on")
            if not actor.over:
                continue
            if waiting:
                actor = waiting.pop()
            elif fresh:
                actor = fresh.pop(0)
            else:
                return

    def end(self) -> None:
        """End the greenlets of dead actors, without a step."""
        for actor in self.actors:
            if not actor.thread.dead:
                actor.dead = True
                actor.thread.throw(GreenletExit)

    def _worth_a_point(self, actor: Actor, what: str) -> bool:
        """Every effect, and the first of several reads: the last of them is followed by an effect anyway."""
        reading = what.startswith("read")
        before, self._read_before[actor.name] = self._read_before.get(actor.name, False), reading
        return self._every_read or not (reading and before)

    def _decide(self, actor: Actor) -> str | None:
        choices = [DIE, *(a.name for a in self.actors if a is not actor and not a.over)]
        if actor.about_to.startswith(STATEMENT):
            choices.append(FAIL)
        self.points.append(tuple(choices))
        return self._turns.get(len(self.points) - 1)

    def _named(self, name: str, waiting: list[Actor], fresh: list[Actor]) -> Actor:
        for group in (waiting, fresh):
            for actor in group:
                if actor.name == name:
                    group.remove(actor)
                    return actor
        raise LookupError(name)


def _connection_lost() -> Retry:
    return Retry("connection_lost", "the connection to Spark broke", left="Not known.", next="Run again.")
