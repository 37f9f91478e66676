"""What must hold after every schedule, checked on the record of what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from airflow_refresh_provider.core.changes.pins import DeltaPin, Pin
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.log.seal import Seal, seals
from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.errors import Defect, RefreshError
from airflow_refresh_provider.testing.memory_rows import shown
from airflow_refresh_provider.testing.memory_table import MemoryTable, Rows
from tests.model.actors import Actor
from tests.model.world import OUTSIDE, WRITES_OF_OWNERS, ModelWorld
from tests.unit.runner.world import NAME, TARGET, ordered

COPY = "SELECT * FROM x"
CHANGED = "SELECT * FROM x WHERE v <> 'b'"
JOINED = "SELECT x.k, concat(x.v, y.v) AS v FROM x LEFT JOIN y ON x.k = y.k"
GROUPED = "SELECT k % 2 AS k, concat(max(v), CAST(count(*) AS STRING)) AS v FROM x GROUP BY k % 2"


def _joined(inputs: dict[str, Rows]) -> list[dict[str, Any]]:
    right = {r["k"]: r["v"] for r in inputs["y"]}
    return [{"k": r["k"], "v": r["v"] + right[r["k"]] if r["k"] in right else None} for r in inputs["x"]]


def _grouped(inputs: dict[str, Rows]) -> list[dict[str, Any]]:
    groups: dict[int, list[str]] = {}
    for r in inputs["x"]:
        groups.setdefault(r["k"] % 2, []).append(r["v"])
    return [{"k": k, "v": f"{max(values)}{len(values)}"} for k, values in groups.items()]


EXPECTED: dict[str, Callable[[dict[str, Rows]], Iterable[dict[str, Any]]]] = {
    COPY: lambda inputs: inputs["x"],
    CHANGED: lambda inputs: (r for r in inputs["x"] if r["v"] != "b"),
    JOINED: _joined,
    GROUPED: _grouped,
}
"""What each query of the model gives, worked out without SQL."""


def violations(world: ModelWorld, actors: list[Actor]) -> list[str]:
    """Every violation, in words."""
    return [
        *_errors(actors),
        *world.dropped_in_use,
        *_final_state(world),
        *_published(world),
        *_seals(world),
        *_generations(world),
        *_plans(world),
        *_losers(world),
        *_applied_twice(world),
        *_abandoned_and_sealed(world),
        *_published_unsealed(world),
        *_after_the_drop(world),
        *_progress_ahead(world),
        *_siblings_fenced(world),
    ]


def _errors(actors: list[Actor]) -> Iterator[str]:
    for actor in actors:
        if isinstance(actor.error, Defect) or (actor.error and not isinstance(actor.error, RefreshError)):
            yield f"{actor.name} failed with {actor.error!r}"


def _final_state(world: ModelWorld) -> Iterator[str]:
    record = _records(world)[-1]
    if record.run is not None:
        yield f"run {record.run.run_id} was never ended"
    if record.published is None:
        yield "nothing is published"
        return
    newest = {n: (i.path, world.lake.table(i.path).newest.commit.version) for n, i in record.definition.inputs.items()}
    wanted = _expected(world, record.definition.query_text, newest)
    if (found := _target(world, record.published.version)) != wanted:
        yield f"the published version {record.published.version} is {found}, the query gives {wanted}"
    if (found := _target(world, None)) != wanted:
        yield f"the target is {found}, the query gives {wanted}"
    kept = record.published.checksums.location if record.published.checksums else None
    if left := [place for place in world.lake.tables if place.startswith("memory://staging") and place != kept]:
        yield f"staging was left: {left}"


def _published(world: ModelWorld) -> Iterator[str]:
    for written in world.store.written:
        if written.event is Event.PUBLISH:
            published = written.record.published
            assert published is not None and written.record.run is not None
            table = next(t for t in _tables(world) if t.table_id == published.target_id)
            yield from _wrong_version(world, table, published.version, written.record.run, "published")


def _seals(world: ModelWorld) -> Iterator[str]:
    runs = {run.run_id: run for run in _runs(world)}
    for table in _tables(world):
        for seal in _sealed(table):
            if seal.note.run in runs:
                yield from _wrong_version(world, table, seal.published, runs[seal.note.run], "sealed")


def _wrong_version(world: ModelWorld, table: MemoryTable, version: int, run: Run, how: str) -> Iterator[str]:
    versions = {name: (pin.location, _input_version(world, pin)) for name, pin in run.plan.pins.items()}
    wanted = _expected(world, run.plan.query, versions)
    found = _shown(table.versions[version].rows) if version < len(table.versions) else "not there"
    if found != wanted:
        yield f"{how} by run {run.run_id}: version {version} is {found}, its query gave {wanted}"


def _input_version(world: ModelWorld, pin: Pin) -> int:
    """The version of the input that a pin stands for; of a list of files the one that has just these."""
    if isinstance(pin, DeltaPin):
        return pin.version
    files = {f.path for f in pin.files}
    return next(n for n, version in enumerate(world.lake.table(pin.location).versions) if version.files.keys() == files)


def _generations(world: ModelWorld) -> Iterator[str]:
    owners: dict[int, str] = {}
    counter = 0
    for record in _records(world):
        if record.generation < counter:
            yield f"the counter went back from {counter} to {record.generation}"
        counter = record.generation
        for generation in record.run.generations if record.run else ():
            run_id = record.run.run_id if record.run else ""
            if owners.setdefault(generation, run_id) != run_id:
                yield f"generation {generation} belongs to the runs {owners[generation]} and {run_id}"


def _plans(world: ModelWorld) -> Iterator[str]:
    first: dict[str, Plan] = {}
    rounds: dict[str, tuple[object, ...]] = {}
    for run in _runs(world):
        plan = first.setdefault(run.run_id, run.plan)
        if (run.plan.pins, run.plan.query, run.plan.staging) != (plan.pins, plan.query, plan.staging):
            yield f"run {run.run_id} was planned again"
        now = run.frozen.rounds if run.frozen else ()
        before = rounds.setdefault(run.run_id, now)
        if now[: len(before)] != before:
            yield f"run {run.run_id} changed its frozen plan"
        rounds[run.run_id] = now


def _losers(world: ModelWorld) -> Iterator[str]:
    for written in world.store.written:
        run = written.before.run if written.before else None
        if not run or not run.lease.owner or written.by == OUTSIDE:
            continue
        if written.event in WRITES_OF_OWNERS and run.lease.owner.label != written.by:
            yield f"{written.by} wrote {written.event.value} although {run.lease.owner.label} holds run {run.run_id}"


def _applied_twice(world: ModelWorld) -> Iterator[str]:
    owners = {g: run.run_id for run in _runs(world) for g in run.generations}
    for table in _tables(world):
        seen: dict[tuple[str, str, int], int] = {}
        for app_id, marker, version in _markers(table):
            if marker.fence or app_id.endswith("/seal") or marker.generation not in owners:
                continue
            chunk = (owners[marker.generation], app_id, marker.chunk)
            if chunk in seen:
                yield f"chunk {chunk} was committed in version {seen[chunk]} and again in {version}"
            seen[chunk] = version


def _abandoned_and_sealed(world: ModelWorld) -> Iterator[str]:
    ended = [w for w in world.store.written if w.event is Event.ABANDON]
    abandoned = {w.before.run.run_id for w in ended if w.before and w.before.run}
    for table in _tables(world):
        for seal in _sealed(table):
            if seal.note.run in abandoned and seal.version >= table.oldest:
                yield f"run {seal.note.run} was abandoned, but version {seal.version} seals it"


def _published_unsealed(world: ModelWorld) -> Iterator[str]:
    sealed = {(t.table_id, seal.version): seal for t in _tables(world) for seal in _sealed(t)}
    for written in world.store.written:
        if written.event is not Event.PUBLISH:
            continue
        published = written.record.published
        assert published is not None
        seal = sealed.get((published.target_id, published.seal_version))
        if not seal or seal.note.run != published.run_id:
            yield f"run {published.run_id} was published without a seal"
        elif seal.published != published.version:
            yield f"run {published.run_id} sealed {seal.published} and published {published.version}"


def _after_the_drop(world: ModelWorld) -> Iterator[str]:
    """Nothing of a run is committed to the target once its definition is forgotten."""
    runs: set[str] = set()
    for written in world.store.written:
        if written.record.run:
            runs.add(written.record.run.run_id)
        if written.event is Event.FORGET:
            for commit in _commits(world)[written.versions :]:
                note = read_note(commit.note)
                if note and note.run in runs:
                    yield f"run {note.run} was dropped, but version {commit.version} is a {note.kind.value} of it"


def _progress_ahead(world: ModelWorld) -> Iterator[str]:
    done = {(n.run, n.unit, n.chunk) for c in _commits(world) if (n := read_note(c.note)) and n.kind is NoteKind.CHUNK}
    for run_id in {run.run_id for run in _runs(world)}:
        for row in world.store.progress(NAME, run_id):
            if (run_id, row.unit, row.chunk) not in done:
                yield f"progress says that chunk {row.chunk} of unit {row.unit} is in, the log does not"


def _siblings_fenced(world: ModelWorld) -> Iterator[str]:
    """A new owner of a unit fences its former owners, and no other."""
    slots = {claim.generation: slot for run in _runs(world) for slot, claim in run.claims.items()}
    for app_id, marker, version in chain.from_iterable(map(_markers, _tables(world))):
        slot = slots.get(marker.generation)
        if marker.fence and slot is not None and not app_id.endswith(f"/s{slot}"):
            yield f"the owner of unit {slot} has fenced {app_id} in version {version}"


def _records(world: ModelWorld) -> list[Record]:
    return [written.record for written in world.store.written]


def _runs(world: ModelWorld) -> list[Run]:
    return [record.run for record in _records(world) if record.run]


def _tables(world: ModelWorld) -> list[MemoryTable]:
    """All tables that were at the target's location, replaced ones first."""
    return [*world.replaced, *(table for place, table in world.lake.tables.items() if place == TARGET)]


def _commits(world: ModelWorld) -> list[Commit]:
    return [version.commit for table in _tables(world) for version in table.versions]


def _markers(table: MemoryTable) -> Iterator[tuple[str, Marker, int]]:
    """appId, marker, and the version that has them."""
    for version in table.versions:
        for app_id, marker in version.commit.txns.items():
            yield app_id, Marker.of(marker), version.commit.version


def _sealed(table: MemoryTable) -> list[Seal]:
    return list(seals([version.commit for version in table.versions], table.table_id))


def _target(world: ModelWorld, version: int | None) -> list[dict[str, Any]]:
    return _shown(world.lake.rows(TARGET, version))


def _shown(rows: Rows) -> list[dict[str, Any]]:
    return ordered(map(shown, rows))


def _expected(world: ModelWorld, query: str, inputs: dict[str, tuple[str, int]]) -> list[dict[str, Any]]:
    """What a query gives over its inputs, each a location and a version."""
    return ordered(EXPECTED[query]({name: world.lake.rows(*place) for name, place in inputs.items()}))
