"""The situations that are searched: an initial world, and the actors in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.request import OnInterrupted
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.runner.admin import cancelling
from tests.model.actors import Actor, Schedule, Stage
from tests.model.invariants import CHANGED, GROUPED, JOINED, violations
from tests.model.search import Played
from tests.model.tasks import interrupter, last_unit, load, tasks, unit
from tests.model.world import ModelWorld, SteppedStore
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, row

OTHER = "/in/others"
CHUNKED = {"visibility": "live", "chunking": {"chunk_rows": 1, "one_commit_up_to": 1}}
IN_PAIRS = {"visibility": "live", "chunking": {"chunk_rows": 2, "one_commit_up_to": 2}}

Prepare = Callable[[ModelWorld], None]
Cast = Callable[[ModelWorld], list[Actor]]


@dataclass(frozen=True)
class Scenario:
    """`prepare` makes the initial world, `cast` the actors in their order. `small`: its tables are small ones."""

    name: str
    prepare: Prepare
    cast: Cast
    options: dict[str, Any] = field(default_factory=dict)
    small: bool = False

    def play(self, schedule: Schedule, *, every_read: bool = False) -> Played:
        """One execution of the scenario, then a new owner that refreshes and recovers, then the invariants."""
        world = ModelWorld(**self.options)
        world.lake.plain = self.small
        self.prepare(world)
        actors = self.cast(world)
        world.stage = Stage(actors, schedule, every_read=every_read)
        world.stage.play()
        world.stage.end()
        last = Actor("last", lambda: _settle(world), atomic=True)
        stage, world.stage = world.stage, Stage([last], (), every_read=False)
        world.stage.play()
        if last.error:
            return Played(stage.points, stage.trace + world.stage.trace, [f"the last refresh failed: {last.error!r}"])
        return Played(stage.points, stage.trace + world.stage.trace, violations(world, [*actors, last]))


def _settle(world: ModelWorld) -> None:
    """Refresh until there is nothing to do; an interrupted run is finished at its own pins first, and a drop too."""
    last = world.owner("last")
    if world.record.state is State.RESETTING:
        last.drop(NAME)
    if world.record.dropped:
        world.register("last")
    for _ in range(3):
        if last.run(NAME, ONE).outcome is Outcome.NOTHING_TO_DO:
            break
    last.recover()


def owner(world: ModelWorld, name: str) -> Actor:
    return Actor(name, lambda: world.owner(name).run(NAME, ONE))


def recoverer(world: ModelWorld, name: str) -> Actor:
    return Actor(name, lambda: world.owner(name).recover())


def once(name: str, act: Callable[[], object]) -> Actor:
    """An actor that does one thing at once."""
    return Actor(name, act, atomic=True)


def first_load(world: ModelWorld) -> None:
    """Nothing is there but an input of two files."""
    world.lake.append(INPUT, [row(1)])
    world.lake.append(INPUT, [row(2)])
    world.register()


def first_load_in_units(world: ModelWorld) -> None:
    """Nothing is there but an input of three files: a unit of two chunks, and one of one."""
    world.lake.append(INPUT, [row(3)])
    first_load(world)


def loaded_in_units(world: ModelWorld) -> None:
    """As before a first load in units, but the tasks before those of the units are done."""
    first_load_in_units(world)
    load(world, "loader")


def created(world: ModelWorld) -> None:
    """As before a first load, but the target is there, empty."""
    world.register()
    world.owner("earlier").run(NAME, ONE)
    world.lake.append(INPUT, [row(1)])
    world.lake.append(INPUT, [row(2)])


def changes(world: ModelWorld) -> None:
    """A published target, and an input of which one row was changed, one added and one removed."""
    world.lake.append(INPUT, [row(1), row(2), row(3)])
    world.register()
    world.owner("earlier").run(NAME, ONE)
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == 1 else r | {"v": "b"} if r["k"] == 2 else r)
    world.lake.append(INPUT, [row(4)])


def joined(world: ModelWorld) -> None:
    """As changes, beside another input, which has some of the keys."""
    world.lake.create(OTHER, COLUMNS, [row(2, "x"), row(3, "x")])
    changes(world)


def trusted(world: ModelWorld) -> None:
    """As joined, but the first incremental refresh was verified before the changes."""
    joined(world)
    world.owner("verifier").run(NAME, ONE)
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == 2 else r | {"v": "c"} if r["k"] == 3 else r)
    world.lake.append(INPUT, [row(6)])


def feedless(world: ModelWorld) -> None:
    """As changes, but the input keeps no feed."""
    world.lake.reshape(INPUT, properties={"delta.enableChangeDataFeed": "false"})
    changes(world)


def compared(world: ModelWorld) -> None:
    """As changes, but of more rows, of which checksums are kept: all were compared twice, and one had changed."""
    world.lake.append(INPUT, [row(k) for k in (1, 2, 3, *range(100, 180))])
    world.register()
    world.owner("earlier").run(NAME, ONE)
    for k in (100, 101):
        _change(world, k)
        world.owner(f"earlier {k}").run(NAME, ONE)
    assert world.record.published and world.record.published.checksums
    _change(world, 2)
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == 1 else r)
    world.lake.append(INPUT, [row(4)])


def _change(world: ModelWorld, k: int) -> None:
    world.lake.rewrite(INPUT, lambda r: r | {"v": "b"} if r["k"] == k else r)


def landed(world: ModelWorld) -> None:
    """A published target, and a new file."""
    world.lake.append(INPUT, [row(1), row(2)])
    world.register()
    world.owner("earlier").run(NAME, ONE)
    world.lake.append(INPUT, [row(3), row(4)])


def lost_root(world: ModelWorld) -> None:
    """A target full of another control root's markers, adopted by this one."""
    changes(world)
    world.store = SteppedStore(world)
    world.register()


def _two(world: ModelWorld) -> list[Actor]:
    return [owner(world, "A"), owner(world, "B")]


def _with(*others: tuple[str, Callable[[ModelWorld], object]], beside: Cast = _two) -> Cast:
    def cast(world: ModelWorld) -> list[Actor]:
        return [*beside(world), *(once(name, partial(act, world)) for name, act in others)]

    return cast


INSERTS = ("foreign insert", lambda w: w.lake.append(TARGET, [row(9, "foreign")]))
UPDATES = ("foreign update", lambda w: w.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == 3 else r))
RESTORES = ("restore", lambda w: w.lake.restore(TARGET, 1))
OTHER_CHANGES = ("other input", lambda w: w.lake.append(OTHER, [row(4, "x")]))
INPUT_MOVES = ("input", lambda w: w.lake.append(INPUT, [row(5)]))
REPLACES = ("replacement", lambda w: w.replace_target(row(k, "foreign") for k in (1, 2, 3)))
REPLACES_BY_OLD = ("replacement", lambda w: w.replace_target((row(k, "foreign") for k in (1, 2, 3)), versions=12))
LOG_CLEANED = ("log cleaned", lambda w: w.clean_log())
INSERTS_UNSEEN = ("foreign insert", lambda w: (w.lake.append(TARGET, [row(9, "foreign")]), w.clean_log()))
REDEFINES = ("redefinition", lambda w: w.register("redefinition", query=CHANGED))
REKEYS = ("redefinition", lambda w: w.register("redefinition", keys=["k", "v"]))


def _recovering(world: ModelWorld) -> list[Actor]:
    return [owner(world, "A"), recoverer(world, "B")]


def _recovering_first(world: ModelWorld) -> list[Actor]:
    return [recoverer(world, "B"), owner(world, "A")]


def _redefining(world: ModelWorld) -> list[Actor]:
    """The next owner registers another query, so that it abandons the run that it finds."""

    def redefine_and_run() -> object:
        world.register("B", query=CHANGED)
        return world.owner("B").run(NAME, ONE)

    return [owner(world, "A"), Actor("B", redefine_and_run)]


def _restarting(world: ModelWorld) -> list[Actor]:
    """The next owner abandons the run that it finds."""
    again = ONE.model_copy(update={"on_interrupted": OnInterrupted.RESTART})
    return [owner(world, "A"), Actor("B", lambda: world.owner("B").run(NAME, again))]


def _taking_over(world: ModelWorld) -> list[Actor]:
    """Another owner takes the run over on request, whether its owner is alive or not."""
    take = ONE.model_copy(update={"take_over": True})
    return [owner(world, "A"), Actor("B", lambda: world.owner("B").run(NAME, take))]


def _tasks_taken_over(world: ModelWorld) -> list[Actor]:
    """The tasks of a DAG run lose their run to an owner that takes it over on request."""
    return [tasks(world, "A"), *_taking_over(world)[1:]]


def _abandoning(world: ModelWorld) -> list[Actor]:
    """The run is ended for good while its owner is running, and the target refreshed."""

    def abandon_and_run() -> object:
        other = world.owner("B")
        other.abandon(NAME, stop=True)
        return other.run(NAME, ONE)

    return [owner(world, "A"), Actor("B", abandon_and_run)]


def _cancelling(world: ModelWorld, *, abandon: bool = False) -> list[Actor]:
    """The run is cancelled while its owner is running, and the target refreshed."""

    def cancel_and_run() -> object:
        with suppress(Refused):  # it has ended
            cancelling.request_cancel(world.ports("B"), NAME, None, abandon=abandon, by="B")
        return world.owner("B").run(NAME, ONE)

    return [owner(world, "A"), Actor("B", cancel_and_run)]


def _tasks_cancelled(world: ModelWorld) -> list[Actor]:
    """A run is cancelled for good while the tasks of its DAG run are running, and the target refreshed."""
    return [tasks(world, "A"), *_cancelling(world, abandon=True)[1:]]


def _dropping(world: ModelWorld) -> list[Actor]:
    """The definition is dropped while an owner is running, registered with another query, and refreshed."""

    def drop_and_run() -> object:
        other = world.owner("B")
        other.drop(NAME, stop=True)
        world.register("B", query=CHANGED)
        return other.run(NAME, ONE)

    return [owner(world, "A"), Actor("B", drop_and_run)]


def _dropping_twice(world: ModelWorld) -> list[Actor]:
    """Two drops at once."""
    return [owner(world, "A"), *(Actor(n, partial(world.owner(n).drop, NAME, stop=True)) for n in ("B", "C"))]


def _tried_again(world: ModelWorld) -> list[Actor]:
    """All tasks of a DAG run are retried while the first tries are running."""
    return [tasks(world, "A"), tasks(world, "B")]


def _unit_tried_again(world: ModelWorld) -> list[Actor]:
    """One unit is retried while its first try and another unit are running."""
    return [unit(world, "A", 0), unit(world, "B", 0), last_unit(world, "C", 1)]


def _tasks_and_owner(world: ModelWorld) -> list[Actor]:
    """Another owner comes while the tasks of a DAG run are running."""
    return [tasks(world, "A"), owner(world, "B")]


def _tasks_interrupted(world: ModelWorld) -> list[Actor]:
    """A DAG run is marked as failed while its tasks are running, and cleared."""
    return [tasks(world, "A"), interrupter(world, "B"), tasks(world, "C")]


INCREMENTAL, FULL = {"mode": "incremental"}, {"mode": "full"}
FILES = {"inputs": {"x": {"path": INPUT, "format": "parquet"}}}
VNODES = CHUNKED | {"layout": "vnode", "vnodes": 4}

JOIN = {"query": JOINED, "inputs": {"x": {"path": INPUT}, "y": {"path": OTHER}}}

SCENARIOS = [
    Scenario("first load", first_load, _two, CHUNKED),
    Scenario("changes", changes, _two, CHUNKED),
    Scenario("changes by vnode", changes, _two, VNODES),
    Scenario("input changes", changes, _with(INPUT_MOVES)),
    Scenario("recover", changes, _recovering),
    Scenario("recover first", changes, _recovering_first),
    Scenario("foreign insert", changes, _with(INSERTS), CHUNKED),
    Scenario("foreign update", changes, _with(UPDATES), CHUNKED),
    Scenario("foreign update by vnode", changes, _with(UPDATES), VNODES),
    Scenario("foreign insert into a first load", first_load, _with(INSERTS), CHUNKED),
    Scenario("restore", changes, _with(RESTORES), CHUNKED),
    Scenario("redefined", changes, _with(REDEFINES), CHUNKED),
    Scenario("redefined by the next owner", changes, _redefining, CHUNKED),
    Scenario("log cleaned", created, _with(LOG_CLEANED), CHUNKED),
    Scenario("log cleaned of a foreign insert", changes, _with(INSERTS_UNSEEN), CHUNKED),
    Scenario("lost control root", lost_root, _two, CHUNKED | {"adopt": True}),
    Scenario("changes, incremental", changes, _two, CHUNKED | INCREMENTAL),
    Scenario("input changes, incremental", changes, _with(INPUT_MOVES), INCREMENTAL),
    Scenario("foreign insert, incremental", changes, _with(INSERTS), CHUNKED | INCREMENTAL),
    Scenario("foreign update, incremental", changes, _with(UPDATES), VNODES | INCREMENTAL),
    Scenario("redefined by the next owner, incremental", changes, _redefining, CHUNKED | INCREMENTAL),
    Scenario("restarted, incremental", changes, _restarting, CHUNKED | INCREMENTAL),
    Scenario("one chunk, foreign insert", changes, _with(INSERTS)),
    Scenario("one chunk, foreign update", changes, _with(UPDATES)),
    Scenario("one chunk, restore", changes, _with(RESTORES)),
    Scenario("one chunk, redefined by the next owner", changes, _redefining),
    Scenario("one chunk, restarted, incremental", changes, _restarting, INCREMENTAL),
    Scenario("taken over on request", changes, _taking_over, CHUNKED),
    Scenario("taken over on request, first load", first_load, _taking_over, CHUNKED),
    Scenario("taken over on request, incremental", changes, _taking_over, VNODES | INCREMENTAL),
    Scenario("tasks, taken over on request", changes, _tasks_taken_over, VNODES),
    Scenario("ended for good", changes, _abandoning, CHUNKED),
    Scenario("ended for good, incremental", changes, _abandoning, CHUNKED | INCREMENTAL),
    Scenario("cancelled", changes, _cancelling, CHUNKED),
    Scenario("cancelled, first load", first_load, _cancelling, CHUNKED),
    Scenario("cancelled for good, incremental", changes, partial(_cancelling, abandon=True), VNODES | INCREMENTAL),
    Scenario("tasks, cancelled for good", changes, _tasks_cancelled, VNODES),
    Scenario("dropped", changes, _dropping, CHUNKED),
    Scenario("dropped by vnode", changes, _dropping, VNODES),
    Scenario("dropped, incremental", changes, _dropping, CHUNKED | INCREMENTAL),
    Scenario("dropped twice", changes, _dropping_twice, CHUNKED),
    Scenario("input changes, by files", feedless, _with(INPUT_MOVES), CHUNKED | INCREMENTAL),
    Scenario("files are added", landed, _with(INPUT_MOVES), CHUNKED | INCREMENTAL | FILES),
    Scenario("other keys", changes, _with(REKEYS), CHUNKED),
    Scenario("replaced", changes, _with(REPLACES), CHUNKED | {"adopt": True}),
    Scenario("replaced by an old table", changes, _with(REPLACES_BY_OLD), CHUNKED | {"adopt": True}),
    Scenario("one chunk, replaced by an old table", changes, _with(REPLACES_BY_OLD), {"adopt": True}),
    Scenario("tasks of a first load", first_load_in_units, _tried_again, CHUNKED),
    Scenario("tasks of changes", changes, _tried_again, VNODES),
    Scenario("tasks, log cleaned", first_load_in_units, _with(LOG_CLEANED, beside=_tried_again), CHUNKED),
    Scenario("a unit of a first load", loaded_in_units, _unit_tried_again, CHUNKED),
    Scenario("tasks, and an owner", changes, _tasks_and_owner, VNODES),
    Scenario("join", joined, _with(INPUT_MOVES, OTHER_CHANGES), CHUNKED | JOIN),
    Scenario("aggregate", changes, _with(INPUT_MOVES), CHUNKED | {"query": GROUPED}),
    Scenario("aggregate by vnode", changes, _two, VNODES | {"query": GROUPED}),
    Scenario("join by touched values", trusted, _with(OTHER_CHANGES, INSERTS), CHUNKED | JOIN | INCREMENTAL),
    Scenario("changes, by checksums", compared, _two, IN_PAIRS | FULL),
    Scenario("foreign update, by checksums", compared, _with(UPDATES), FULL),
    Scenario("restore, by checksums", compared, _with(RESTORES), FULL),
    Scenario("restarted, by checksums", compared, _restarting, IN_PAIRS | FULL),
    Scenario("redefined by the next owner, by checksums", compared, _redefining, FULL),
    Scenario("small table", changes, _two, small=True),
    Scenario("small table, input changes, incremental", changes, _with(INPUT_MOVES), INCREMENTAL, small=True),
    Scenario("small table, foreign insert, incremental", changes, _with(INSERTS), INCREMENTAL, small=True),
    Scenario("small table, foreign update, incremental", changes, _with(UPDATES), INCREMENTAL, small=True),
    Scenario("small table, restore", changes, _with(RESTORES), small=True),
    Scenario("small table, restarted, incremental", changes, _restarting, INCREMENTAL, small=True),
    Scenario("small table, redefined by the next owner", changes, _redefining, small=True),
    Scenario("small table, cancelled for good", changes, partial(_cancelling, abandon=True), INCREMENTAL, small=True),
    Scenario("small table, replaced by an old table", changes, _with(REPLACES_BY_OLD), {"adopt": True}, small=True),
    Scenario("small table, tasks", changes, _tried_again, INCREMENTAL, small=True),
    Scenario("tasks, interrupted", first_load_in_units, _tasks_interrupted, CHUNKED),
]
