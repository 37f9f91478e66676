"""The rules of the protocol, each with a way to disable it and the scenario in which that must show."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from airflow_refresh_provider.core.log import commits as core_log
from airflow_refresh_provider.core.log import seal as core_seal
from airflow_refresh_provider.core.log.commits import Commit, Origin
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.log.note import Note
from airflow_refresh_provider.core.run import recovery
from airflow_refresh_provider.core.run.prepared import FrozenRun, prepared
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.errors import Conflict, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import CompareTask, Comparison, Stamp
from airflow_refresh_provider.runner.admin import dropping
from airflow_refresh_provider.runner.facts import pinned_inputs, published_checksums, staging_paths, targets
from airflow_refresh_provider.runner.hold import fence, leases, log_lookup, takeover
from airflow_refresh_provider.runner.hold.losses import lost
from airflow_refresh_provider.runner.hold.marked_commits import MarkedCommit
from airflow_refresh_provider.runner.hold.tenure import Tenure, UnitTenure
from airflow_refresh_provider.runner.report import journal
from airflow_refresh_provider.runner.steps import chunks, finish, gate, merge, sealing
from airflow_refresh_provider.runner.windows import change_windows, comparing
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_engine import MemorySession

Switch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Rule:
    """`off` disables it; `scenario` is where that must be found. `every_read`: only between two reads."""

    name: str
    scenario: str
    off: Switch
    every_read: bool = False


def _instead(target: object, name: str, other: object) -> Switch:
    return lambda patch: patch.setattr(target, name, other)


def _no_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fence, "fence_slot", lambda *_: None)
    patch.setattr(merge, "fence_slot", lambda *_: None)


def _fence_first_slot_only(patch: pytest.MonkeyPatch) -> None:
    real = fence.fence_slot

    def first_only(tenure: Tenure, session: EngineSession, held: FrozenRun, slot: int, generation: int) -> None:
        if slot == 0:
            real(tenure, session, held, slot, generation)

    patch.setattr(fence, "fence_slot", first_only)


def _fence_once(patch: pytest.MonkeyPatch) -> None:
    """The fence stays at the chunk that was first read."""

    real = log_lookup.last_chunk

    def once(tenure: Tenure, session: EngineSession, held: FrozenRun, slot: int, generation: int) -> None:
        log, location = tenure.ports.log, held.target.location
        run = tenure.read_run()
        done = real(tenure.ports, held, slot, run.generations)
        app_id, marker = slot_app_id(held.target.table_id, slot), Marker(generation, done, fence=True)
        stamp = fence._stamp(tenure, run, app_id, marker, slot)
        while log.markers(location).get(app_id, 0) < marker.version:
            tenure.read_run()
            with suppress(Conflict):
                session.mark(held.target, stamp)

    patch.setattr(fence, "fence_slot", once)


def _same_generation(patch: pytest.MonkeyPatch) -> None:
    """A take-over keeps the generation that it found."""
    real = takeover._draw

    def drawn(ports: Ports, snapshot: Any, record: Record, event: Any, held: Run, request: Any) -> Tenure | None:
        found = held.lease.model_copy(update={"generation": record.generation})
        kept = {"lease": found, "generations": (*held.generations[:-1], record.generation)}
        return real(ports, snapshot, record, event, held.model_copy(update=kept), request)

    patch.setattr(takeover, "_draw", drawn)


def _any_generation_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chunks, "chunk_reached", lambda found, _generations: Marker.of(found).chunk if found else 0)


def _applied_unseen(patch: pytest.MonkeyPatch) -> None:
    """A statement that has ended is taken to be committed."""

    def sent_once(_tenure: Tenure, wanted: MarkedCommit) -> Stamp:
        stamp = wanted.stamp()
        wanted.before()
        with suppress(Retry):
            wanted.send(stamp)
        return stamp

    patch.setattr(chunks, "commit_until_marked", sent_once)
    patch.setattr(chunks, "commit_of", lambda *_: Commit(version=0, operation="WRITE"))


def _no_gate(patch: pytest.MonkeyPatch) -> None:
    def unseen(tenure: Tenure, *_: Any) -> gate.Passed:
        return gate.Passed(tenure.ports.log.newest(prepared(tenure.read_run()).target.location), None)

    patch.setattr(finish, "gate", unseen)


def _gate_without_chunks(patch: pytest.MonkeyPatch) -> None:
    """Chunks are taken to be in because their statements ended, and the gate does not check."""
    _applied_unseen(patch)
    patch.setattr(chunks, "unfinished", lambda *_: ())
    patch.setattr(gate, "_grown_as_planned", lambda *_: True)
    patch.setattr(journal, "chunk_done", lambda *_: None)


def _gate_from_the_last_chunk(patch: pytest.MonkeyPatch) -> None:
    """Only what came after our last commit is read."""
    real = core_log.foreign

    def late(commits: tuple[Commit, ...], target_id: str, generations: tuple[int, ...]) -> Any:
        ours = [c.version for c in commits if core_log.origin(c, target_id, generations) is Origin.OURS]
        return real([c for c in commits if c.version > max(ours, default=0)], target_id, generations)

    patch.setattr(gate, "foreign", late)
    patch.setattr(gate, "_grown_as_planned", lambda *_: True)


def _seal_first(patch: pytest.MonkeyPatch) -> None:
    def sealed_first(tenure: Tenure, session: EngineSession, workers: int, stop: Any) -> None:
        version = tenure.ports.log.newest(prepared(tenure.read_run()).target.location)
        seal = sealing.seal(tenure, session, version)
        gate.gate(tenure, session, workers, stop)
        finish.publish(tenure, version, seal)

    patch.setattr(finish, "finish", sealed_first)


def _sealed_beside_others(patch: pytest.MonkeyPatch) -> None:
    """A chunk seals its run although others have committed since the comparison."""
    real = core_seal._published_by

    def alone(note: Note, commit: Commit, _before: object, target_id: str) -> int | None:
        if note.seals is None:
            return real(note, commit, (), target_id)
        beside = note.seals.model_copy(update={"base": commit.version - 1})
        return real(note.model_copy(update={"seals": beside}), commit, (), target_id)

    patch.setattr(core_seal, "_published_by", alone)


def _publish_first(patch: pytest.MonkeyPatch) -> None:
    def published_first(tenure: Tenure, session: EngineSession, workers: int, stop: Any) -> None:
        version = gate.gate(tenure, session, workers, stop).version
        finish.publish(tenure, version, version + 1)
        sealing.seal(tenure, session, version)

    patch.setattr(finish, "finish", published_first)


def _abandons(**overlooked: bool) -> Switch:
    """The decision does not see that the run is sealed, or published."""

    def switch(patch: pytest.MonkeyPatch) -> None:
        real = recovery.next_step

        def blind(run: Run, facts: Any) -> Any:
            seen = run.model_copy(update={"published": False}) if "published" in overlooked else run
            return real(seen, facts.model_copy(update={"sealed": False}))

        patch.setattr(takeover, "next_step", blind)

    return switch


def _cleanup_first(patch: pytest.MonkeyPatch) -> None:
    real = finish.publish

    def dropped_first(tenure: Tenure, version: int, seal_version: int) -> None:
        tenure.ports.staging.drop(tenure.read_run().plan.staging)
        real(tenure, version, seal_version)

    patch.setattr(finish, "publish", dropped_first)


def _no_compare_and_set(patch: pytest.MonkeyPatch) -> None:
    real = MemoryControlStore.commit

    def overwrite(store: MemoryControlStore, snapshot: Any, record: Record, event: Any, at: Any) -> Any:
        return real(store, MemoryControlStore.read(store, snapshot.name), record, event, at)

    patch.setattr(MemoryControlStore, "commit", overwrite)


def _taken_with(**changes: Callable[[Ports, Run], object]) -> Switch:
    """A take-over changes the plan."""

    def switch(patch: pytest.MonkeyPatch) -> None:
        real = leases.with_new_lease

        def replanned(ports: Ports, run: Run, generation: int, **how: Any) -> Run:
            made = {name: make(ports, run) for name, make in changes.items()}
            return real(ports, run, generation, **how).model_copy(update=made)

        patch.setattr(takeover, "with_new_lease", replanned)

    return switch


def _pinned_again(ports: Ports, run: Run) -> object:
    return run.plan.model_copy(update={"pins": pinned_inputs.pin(ports, run.definition)})


def _one_folder_for_all_comparisons(patch: pytest.MonkeyPatch) -> None:
    real = MemorySession.compare

    def shared(session: MemorySession, task: CompareTask) -> Comparison:
        folder = task.location.rpartition("/")[0]
        stamp = task.stamp.model_copy(update={"app_id": f"{folder}/changes"})
        return real(session, task.model_copy(update={"location": f"{folder}/changes", "stamp": stamp}))

    patch.setattr(MemorySession, "compare", shared)


def _losers_go_on(patch: pytest.MonkeyPatch) -> None:
    def held(tenure: Tenure, record: Record | None) -> Any:
        if record is None or record.run is None:
            raise lost(tenure.ports, tenure.name, tenure.run_id)
        return record, record.run

    patch.setattr(Tenure, "_held", held)


def _markers_unseen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(targets, "highest_generation", lambda *_: 0)


def _restores_are_neutral(patch: pytest.MonkeyPatch) -> None:
    real = core_log.origin
    patch.setattr(core_log, "origin", lambda c, *rest: Origin.NEUTRAL if c.operation == "RESTORE" else real(c, *rest))


def _stored_hashes_used(patch: pytest.MonkeyPatch) -> None:
    real = comparing.compare

    def believing(*args: Any, known: comparing.Known = comparing.NOTHING_KNOWN, **given: Any) -> Comparison:
        return real(*args, known=replace(known, hashes=True), **given)

    patch.setattr(comparing, "compare", believing)


def _checksums_used(patch: pytest.MonkeyPatch) -> None:
    real = published_checksums.task_for
    patch.setattr(published_checksums, "task_for", lambda *args, **given: real(*args, **given | {"believed": True}))


def _orphans_from_an_old_view(patch: pytest.MonkeyPatch) -> None:
    """Control is read before the folders are listed."""

    def drop(ports: Ports, name: str) -> None:
        record = ports.store.read(name).record
        kept = record.run.plan.staging if record and record.run else None
        for folder in ports.staging.runs(f"{ports.staging_root}/{name}"):
            if folder != kept:
                ports.staging.drop(folder)

    patch.setattr(staging_paths, "drop_orphans", drop)


def _newest_definition(patch: pytest.MonkeyPatch) -> None:
    """A run goes by the definition as it is registered now."""
    real = Tenure._held

    def held(tenure: Tenure, stored: Record | None) -> Any:
        record, run = real(tenure, stored)
        return record, run.model_copy(update={"definition": record.definition})

    checked = UnitTenure.check

    def check(unit: UnitTenure) -> Run:
        run = checked(unit)
        record = unit.whole.ports.store.read(unit.whole.name).record
        assert record is not None
        return run.model_copy(update={"definition": record.definition})

    patch.setattr(Tenure, "_held", held)
    patch.setattr(UnitTenure, "check", check)


def _unfenced_seal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fence, "fence_seal", lambda *_: None)


def _windows_on_anything(patch: pytest.MonkeyPatch) -> None:
    """A window is applied to any target, and its growth is not checked."""
    patch.setattr(targets, "changed_reason", lambda *_: None)
    patch.setattr(gate, "_grown_as_planned", lambda *_: True)


def _windows_from_control(patch: pytest.MonkeyPatch) -> None:
    """A window begins where the inputs are now, not where the last refresh ended."""
    real = change_windows.scope_of

    def late(*facts: Any) -> Any:
        found = real(*facts)
        started = {name: window.model_copy(update={"after": window.upto}) for name, window in found.windows.items()}
        return found.model_copy(update={"windows": started})

    patch.setattr(change_windows, "scope_of", late)


def _dropped_without_a_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dropping, "fence_run", lambda *_: None)


def _drops_go_on(patch: pytest.MonkeyPatch) -> None:
    """A drop does not notice that another drop has taken it over."""

    patch.setattr(dropping._Reset, "check", lambda _reset, record: record)


RULES = [
    Rule("a take-over fences the slots", "first load", _no_fence),
    Rule("a take-over fences every slot", "changes by vnode", _fence_first_slot_only),
    Rule("a fence is moved up to a chunk that came just before it", "first load", _fence_once),
    Rule("a take-over fences the seal", "redefined by the next owner", _unfenced_seal),
    Rule("a take-over draws a generation", "changes", _same_generation),
    Rule("only the run's own generations count as its progress", "changes", _any_generation_counts),
    Rule("the marker says whether a chunk is in", "changes", _applied_unseen),
    Rule("the gate requires every last chunk", "changes", _gate_without_chunks),
    Rule("nothing is sealed before the gate", "foreign insert", _no_gate),
    Rule("the gate looks back to the comparison", "foreign insert", _gate_from_the_last_chunk),
    Rule("the seal comes after the gate", "foreign insert", _seal_first),
    Rule("publishing comes after the seal", "changes", _publish_first),
    Rule(
        "a chunk seals its run only without a foreign commit before it",
        "one chunk, foreign update",
        _sealed_beside_others,
    ),
    Rule("a sealed run is not abandoned", "redefined by the next owner", _abandons(sealed=True)),
    Rule("nor is one that its chunk has sealed", "one chunk, redefined by the next owner", _abandons(sealed=True)),
    Rule("a published run is not abandoned", "redefined by the next owner", _abandons(sealed=True, published=True)),
    Rule("staging goes after publishing", "changes", _cleanup_first),
    Rule("control is written by compare-and-set", "changes", _no_compare_and_set),
    Rule("a frozen plan never changes", "changes", _taken_with(frozen=lambda *_: None)),
    Rule("pins never change inside a run", "input changes", _taken_with(plan=_pinned_again)),
    Rule("each owner compares into a folder of its own", "foreign insert", _one_folder_for_all_comparisons),
    Rule("an owner that has lost writes nothing", "changes", _losers_go_on),
    Rule("a first generation is above the target's markers", "lost control root", _markers_unseen),
    Rule("a restore is foreign", "restore", _restores_are_neutral),
    Rule("stored hashes are not used after foreign writes", "foreign update by vnode", _stored_hashes_used),
    Rule("nor are checksums", "foreign update, by checksums", _checksums_used),
    Rule("orphans are dropped", "changes", _instead(staging_paths, "drop_orphans", lambda *_: None)),
    Rule("orphans are listed before control is read", "recover first", _orphans_from_an_old_view, every_read=True),
    Rule("a window is used only on the published rows", "foreign update, incremental", _windows_on_anything),
    Rule("a window begins where the last one ended", "changes, incremental", _windows_from_control),
    Rule("a drop fences", "dropped twice", _dropped_without_a_fence),
    Rule("a drop that was taken over changes nothing more", "dropped twice", _drops_go_on),
    Rule("a run keeps the definition it started with", "other keys", _newest_definition),
]
