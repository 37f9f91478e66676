"""Other writers change, replace or delete the target while it is being refreshed."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import BY_VNODE, LIVE, changed, once
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.world import NAME, ONE, TARGET, World, row


@pytest.mark.parametrize("options", [LIVE, BY_VNODE], ids=["plain", "vnodes"])
@pytest.mark.parametrize(
    "disturb",
    [
        lambda w: w.lake.append(TARGET, [w.lake.rows(TARGET)[0] | {"k": 99}]),
        lambda w: w.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"}),
        lambda w: w.lake.rewrite(TARGET, lambda _row: None),
        lambda w: w.lake.restore(TARGET, 0),
    ],
    ids=["insert", "update", "delete", "restore"],
)
@pytest.mark.parametrize("before", ["begin /gold", "read newest /gold"])
def test_foreign_writes_during_a_run_are_repaired_before_it_is_published(
    options: dict[str, Any], disturb: Any, before: str
) -> None:
    world = changed(**options)
    world.lake.step = once(world, before, lambda: disturb(world))
    result = world.run()
    assert world.fresh()
    assert result.published_version is not None
    assert world.target(result.published_version) == world.source()


@pytest.mark.parametrize("before", ["begin /gold", "answer /gold"])
def test_a_chunk_seals_its_run_only_without_a_foreign_commit_before_it(before: str) -> None:
    world = changed()
    world.lake.step = once(world, before, lambda: world.lake.append(TARGET, [row(99)]))
    result = world.run()
    assert result.chunks.done == (1 if before == "answer /gold" else 2)
    assert result.published_version is not None
    assert world.target(result.published_version) == world.source()
    world.run()
    assert world.fresh()


def test_a_run_fails_and_is_kept_when_others_keep_writing() -> None:
    world = changed(**LIVE)
    keys = iter(range(100, 999))

    def step(what: str) -> None:
        if what.startswith("begin /gold"):
            world.lake.append(TARGET, [row(next(keys))])

    world.lake.step = step
    with pytest.raises(Failed, match="other writers kept committing"):
        world.run()
    world.lake.step = lambda _what: None
    assert world.another().resumed
    assert world.fresh()


def test_a_duplicate_key_of_another_writer_is_never_published() -> None:
    world = changed()
    published = world.record.published
    world.lake.append(TARGET, [row(0)])
    with pytest.raises(Failed, match="more than once in the target"):
        world.run()
    assert world.record.published == published


def test_foreign_rows_stay_where_deletes_are_ignored() -> None:
    world = World(row(1), row(2), layout="vnode", vnodes=1, deletes="ignore")
    world.run()
    world.become(row(1, "b"), row(2, "b"))
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    other = {**world.lake.rows(TARGET)[0], **row(3, "theirs")}
    world.lake.append(TARGET, [other])
    assert world.another().resumed
    assert {(r["k"], r["v"]) for r in world.lake.rows(TARGET)} == {(1, "b"), (2, "b"), (3, "theirs")}


@pytest.mark.parametrize("stage", ["merge", "publish"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_missing_or_replaced_target_is_neither_written_nor_created(stage: str, replaced: bool) -> None:
    world = changed(**LIVE)
    columns = world.lake.table(TARGET).newest.columns

    class Taking(Silent):
        def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
            if name == stage:
                world.lake.remove(TARGET)
                if replaced:
                    world.lake.create(TARGET, columns)

    with pytest.raises(Failed) as caught:
        Refreshes(replace(world.ports, watch=Taking())).run(NAME, ONE)

    assert caught.value.code == "target_replaced"
    assert (TARGET in world.lake.tables) is replaced
    if replaced:
        with pytest.raises(Refused, match="not created by airflow-refresh"):
            world.run()
        assert len(world.commits) == 1
    else:
        world.run()
        assert world.fresh()


@pytest.mark.parametrize("last", [False, True], ids=["chunk", "seal"])
def test_a_commit_into_a_table_that_replaced_the_target_is_an_error(last: bool) -> None:
    sent: list[str] = []
    undisturbed, world = changed(**LIVE), changed(**LIVE)
    with at(undisturbed.lake, f"begin {TARGET}", nth=0) as steps:
        undisturbed.run()
    nth = steps.count(f"begin {TARGET}") if last else 1

    def replacing(what: str) -> None:
        if what != f"begin {TARGET}":
            return
        sent.append(what)
        if len(sent) == nth:
            columns = world.lake.table(TARGET).newest.columns
            world.lake.remove(TARGET)
            world.lake.create(TARGET, columns)

    world.lake.step = replacing
    with pytest.raises(Failed) as caught:
        world.run()
    assert caught.value.code == "target_replaced"
    assert len(sent) == nth
    with pytest.raises(Refused, match="not created by airflow-refresh"):
        world.run()
