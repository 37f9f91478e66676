"""Which commits say that a run is complete."""

from typing import Any

import pytest

from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind, Sealing
from airflow_refresh_provider.core.log.seal import find_seal, sealing, seals
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, Round, StagedTable, Unit
from airflow_refresh_provider.core.plan.ways import Way

SLOT = slot_app_id("t", 0)
CHANGES = StagedTable(location="/staging", version=1)


def commit(version: int, **facts: Any) -> Commit:
    given: dict[str, Any] = {"version": version, "operation": "WRITE"}
    return Commit(**(given | facts))


def neutral(version: int) -> Commit:
    return commit(version, data_change=False, operation="OPTIMIZE")


def sealed(version: int, published: int, app_id: str = seal_app_id("t")) -> Commit:
    note = Note(kind=NoteKind.SEAL, definition="d", run="r", generation=3, published_version=published).text()
    return commit(version, txns={app_id: Marker(3, 1).version}, note=note, data_change=False)


def chunk(version: int, base: int, growth: int | None = 2, **facts: Any) -> Commit:
    seals = Sealing(base=base, growth=growth)
    note = Note(kind=NoteKind.CHUNK, definition="d", run="r", generation=3, unit=0, chunk=1, seals=seals).text()
    given: dict[str, Any] = {"txns": {SLOT: Marker(3, 1).version}, "note": note, "net_rows": 2}
    return commit(version, **(given | facts))


def found(*commits: Commit, run: str = "r") -> tuple[int, int] | None:
    seal = find_seal(commits, "t", run)
    return (seal.published, seal.version) if seal else None


def test_a_seal_is_found_by_its_run_and_only_under_the_seals_app_id() -> None:
    assert found(commit(5), sealed(6, published=5)) == (5, 6)
    assert found(sealed(6, published=5), run="other") is None
    assert found(sealed(6, published=5, app_id=SLOT)) is None
    fence = Note(kind=NoteKind.FENCE, definition="d", run="r", generation=3).text()
    assert found(commit(6, txns={seal_app_id("t"): Marker(3, 0).version}, note=fence)) is None


@pytest.mark.parametrize("before", [(), (neutral(4),), (neutral(4), neutral(5))])
def test_the_only_chunk_of_a_round_seals_its_run_without_a_foreign_commit(before: tuple[Commit, ...]) -> None:
    version = 4 + len(before)
    assert found(commit(3), *before, chunk(version, base=3), commit(version + 1)) == (version, version)


@pytest.mark.parametrize(
    "commits",
    [
        (commit(4), chunk(5, base=3)),
        (commit(4, data_change=False, reshaped=True), chunk(5, base=3)),
        (commit(4, operation="RESTORE", data_change=False), chunk(5, base=3)),
        (commit(4, txns={SLOT: Marker(2, 1).version}), chunk(5, base=3)),
        (chunk(5, base=3),),
        (chunk(4, base=3, growth=1),),
        (chunk(4, base=3, operation="RESTORE"),),
        (chunk(4, base=3, txns={}),),
        (chunk(4, base=3, txns={SLOT: Marker(3, 1, fence=True).version}),),
        (chunk(4, base=3, txns={SLOT: Marker(4, 1).version}),),
        (chunk(4, base=3, txns={slot_app_id("other", 0): Marker(3, 1).version}),),
    ],
    ids=[
        "foreign write",
        "foreign table change",
        "foreign restore",
        "a chunk of another run",
        "a commit that cannot be seen any more",
        "other growth than planned",
        "restored itself",
        "no marker",
        "a fence's marker",
        "another generation's marker",
        "another table's marker",
    ],
)
def test_a_chunk_seals_nothing_after(commits: tuple[Commit, ...]) -> None:
    assert list(seals(commits, "t")) == []


@pytest.mark.parametrize("facts", [{"growth": None}, {"net_rows": None}])
def test_unknown_growth_does_not_count_against_a_chunk(facts: dict[str, Any]) -> None:
    assert found(chunk(4, base=3, **facts)) == (4, 4)


def of(*chunks: int, compared: bool = True, changes: StagedTable | None = CHANGES) -> Round:
    """A round of units with these numbers of chunks; every chunk inserts three rows and deletes one."""
    made = Chunk(number=1, way=Way.MERGE, by_vnode={0: ChangeCounts(inserted=3, deleted=1)})
    units = tuple(Unit(slot=i, chunks=(made,) * count) for i, count in enumerate(chunks))
    return Round(base=7, changes=changes, compared=compared, units=units)


def test_a_round_of_one_chunk_is_sealed_by_it() -> None:
    assert sealing(of(1)) == Sealing(base=7, growth=2)
    assert sealing(of(1, compared=False)) == Sealing(base=7, growth=2)


def test_a_chunk_that_reads_inputs_seals_nothing_as_they_may_have_been_replaced() -> None:
    assert sealing(of(1, changes=None)) is None


@pytest.mark.parametrize("chunks", [(), (0,), (2,), (1, 1)])
def test_a_round_of_several_chunks_or_none_needs_a_seal_of_its_own(chunks: tuple[int, ...]) -> None:
    assert sealing(of(*chunks)) is None
