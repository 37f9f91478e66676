"""Watching inputs in a triggerer: one loop for all of them, an event for each change of rows, none for tidying up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from airflow.sdk import Asset, AssetAny, AssetOrTimeSchedule, CronTriggerTimetable
from deltalake import CommitProperties, DeltaTable, write_deltalake

from airflow_refresh_provider import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.dag_factory import refresh_dag
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.triggers.input_trigger import InputTrigger

ROWS = pa.table({"k": pa.array([1, 2], pa.int64())})


class Watching:
    """Triggers that share one loop, as a triggerer runs them, and the events that came."""

    def __init__(self, *reads: dict[str, Any], kind: type[InputTrigger] = InputTrigger) -> None:
        self.kind = kind
        self.triggers = [kind(read=read, every=0.01) for read in reads]
        assert len({t.shared_stream_key() for t in self.triggers}) == 1
        self.events: list[str] = []
        self._queues: list[asyncio.Queue[str]] = [asyncio.Queue() for _ in reads]

    async def run(self, script: Callable[[], Any]) -> None:
        """Watch while a script runs, which waits by yielding what it wants to have seen."""
        tasks = [asyncio.create_task(self._loop())]
        tasks += [asyncio.create_task(self._follow(*pair)) for pair in zip(self.triggers, self._queues, strict=True)]
        try:
            for wanted in script():
                async with asyncio.timeout(20):
                    while sorted(self.events) != sorted(wanted):
                        await asyncio.sleep(0.01)
                        assert not tasks[0].done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _loop(self) -> None:
        async for raw in self.kind.open_shared_stream({"read": {}, "every": 0.01}):
            for queue in self._queues:
                queue.put_nowait(raw)

    async def _follow(self, trigger: InputTrigger, queue: asyncio.Queue[str]) -> None:
        async def stream() -> Any:
            while True:
                yield await queue.get()

        async for event in trigger.filter_shared_stream(stream()):
            self.events.append(Path(event.payload["input"]).name)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_deltalake(str(tmp_path / "a"), ROWS)
    write_deltalake(str(tmp_path / "b"), ROWS)
    (tmp_path / "c").mkdir()
    pq.write_table(ROWS, tmp_path / "c" / "1.parquet")
    return tmp_path


def test_each_change_of_rows_is_one_event_of_its_input(lake: Path) -> None:
    place = {name: str(lake / name) for name in "abc"}

    def script() -> Any:
        yield ["a", "b", "c"]
        write_deltalake(place["a"], ROWS, mode="append")
        yield ["a", "a", "b", "c"]
        DeltaTable(place["a"]).optimize.compact()
        DeltaTable(place["b"]).alter.set_table_properties({"delta.appendOnly": "true"})
        pq.write_table(ROWS, lake / "c" / "2.parquet")
        yield ["a", "a", "b", "c", "c"]
        DeltaTable(place["a"]).delete("k = 1")
        yield ["a", "a", "a", "b", "c", "c"]

    watching = Watching(
        {"path": place["a"], "format": "delta"},
        {"path": place["b"], "format": "delta"},
        {"path": place["c"], "format": "parquet"},
    )
    asyncio.run(watching.run(script))
    assert InputTrigger.watched == {}


def test_an_input_that_comes_later_or_is_replaced_is_seen(lake: Path) -> None:
    place = str(lake / "late")

    def script() -> Any:
        yield []
        write_deltalake(place, ROWS)
        yield ["late"]
        write_deltalake(place, ROWS, mode="append")
        yield ["late"] * 2
        (lake / "late").rename(lake / "old")
        write_deltalake(place, ROWS)
        yield ["late"] * 3

    asyncio.run(Watching({"path": place, "format": "delta"}).run(script))


def test_an_input_that_does_not_answer_keeps_no_other_waiting(lake: Path) -> None:
    answer = threading.Event()

    class Slow(InputTrigger):
        @staticmethod
        def look_at(read: Input) -> Callable[[], str]:
            if read.path.endswith("/b"):
                answer.wait(60)
            return InputTrigger.look_at(read)

    def script() -> Any:
        yield ["a"]
        write_deltalake(str(lake / "a"), ROWS, mode="append")
        yield ["a", "a"]
        answer.set()
        yield ["a", "a", "b"]

    asyncio.run(Watching(*({"path": str(lake / name), "format": "delta"} for name in "ab"), kind=Slow).run(script))


@pytest.mark.parametrize("text", ["this is no commit", "null", '{"commitInfo": "so it is"}'])
def test_a_log_that_is_none_ends_no_watch(lake: Path, text: str) -> None:
    def script() -> Any:
        yield ["a", "b"]
        (lake / "b" / "_delta_log" / "00000000000000000001.json").write_text(text)
        write_deltalake(str(lake / "a"), ROWS, mode="append")
        yield ["a", "a", "b"]

    asyncio.run(Watching(*({"path": str(lake / name), "format": "delta"} for name in "ab")).run(script))


def test_files_are_listed_and_not_opened(lake: Path) -> None:
    (lake / "c" / "1.parquet").chmod(0)

    def script() -> Any:
        yield ["c"]
        pq.write_table(ROWS, lake / "c" / "2.parquet")
        yield ["c", "c"]

    asyncio.run(Watching({"path": str(lake / "c"), "format": "parquet"}).run(script))


def test_the_seal_of_an_upstream_refresh_is_an_event(lake: Path) -> None:
    place, note = str(lake / "a"), Note(kind=NoteKind.SEAL, definition="up", run="r", generation=1)

    def script() -> Any:
        yield ["a"]
        write_deltalake(
            place, ROWS[:0], mode="append", commit_properties=CommitProperties({"userMetadata": note.text()})
        )
        yield ["a", "a"]

    asyncio.run(Watching({"path": place, "format": "delta"}).run(script))


def build(**fields: Any) -> Definition:
    given = {"name": "t", "target": "/t", "query": "SELECT x.k FROM x JOIN y USING (k)", "keys": ["k"]}
    return Definition.build(**given | {"inputs": {"x": {"path": "/x"}, "y": {"path": "/y", "trigger": False}}} | fields)


@pytest.mark.parametrize(
    ("refresh", "timetable"),
    [("manual", "NullTimetable"), ({"interval": "15 min"}, "Delta"), ({"cron": "0 6 * * *"}, "Cron")],
)
def test_a_dag_has_the_schedule_of_its_definition(refresh: Any, timetable: str) -> None:
    assert timetable in type(refresh_dag(build(refresh=refresh)).timetable).__name__


@pytest.mark.parametrize(
    ("refresh", "given"),
    [
        ("manual", True),
        ({"target_lag": "1 h"}, True),
        ({"interval": "15 min"}, False),
        ({"cron": "0 6 * * *"}, False),
        ({"on_change": True}, False),
    ],
)
def test_the_schedule_of_a_dag_file_is_for_definitions_that_have_none(refresh: Any, given: bool) -> None:
    schedule: Any = refresh_dag(build(refresh=refresh), schedule="@hourly").schedule
    assert (schedule == "@hourly") is given
    assert given or schedule == refresh_dag(build(refresh=refresh)).schedule


def test_inputs_that_begin_refreshes_are_watched_and_all_are_inlets() -> None:
    dag = refresh_dag(build(refresh={"on_change": True}))
    assets = dag.get_task("start").inlets
    assert [(a.name, a.uri, len(a.watchers)) for a in assets] == [
        ("changes of /x", "file:///x?asset=changes", 1),
        ("/y", "file:///y?asset=input", 0),
    ]
    assert started_by(dag) == assets[:1]


def test_the_target_of_another_dag_is_watched_by_its_own_asset() -> None:
    parent = Asset(name="parent", uri="file:///x")
    dag = refresh_dag(build(refresh={"on_change": True}), upstream={"x": parent})
    assert started_by(dag) == [parent]


def test_a_name_that_is_no_input_is_refused_as_upstream() -> None:
    with pytest.raises(Invalid, match=r"no input 'xx', which upstream names. Did you mean x\?"):
        refresh_dag(build(), upstream={"xx": Asset(name="parent", uri="file:///x")})


def started_by(dag: Any) -> list[Asset]:
    """The assets whose events begin a DAG, which looks by itself once an hour, too."""
    assert isinstance(dag.schedule, AssetOrTimeSchedule)
    hourly, commits = dag.schedule.timetable, dag.schedule.asset_condition
    assert isinstance(hourly, CronTriggerTimetable)
    assert hourly.run_immediately
    assert isinstance(commits, AssetAny)
    return [asset for asset in commits.objects if isinstance(asset, Asset)]


def test_on_change_needs_an_input_that_may_begin_it() -> None:
    with pytest.raises(Invalid, match=r"refresh\.on_change: needs an input"):
        build(
            inputs={"x": {"path": "/x", "trigger": False}, "y": {"path": "/y", "ignore_changes": True}},
            refresh={"on_change": True},
        )


def test_one_who_watches_an_input_and_one_who_only_reads_it_name_different_assets() -> None:
    """Airflow stops watching an asset that any DAG names without a watcher."""
    watching, reading = (
        refresh_dag(build(name=n, refresh=r)) for n, r in (("a", {"on_change": True}), ("b", "manual"))
    )
    named = [{asset.name for asset in dag.get_task("start").inlets} for dag in (watching, reading)]
    assert named == [{"changes of /x", "/y"}, {"/x", "/y"}]


def test_a_target_that_is_read_elsewhere_keeps_an_asset_of_its_own() -> None:
    parent, child = (
        build(target="/x", inputs={"x": {"path": "/a"}, "y": {"path": "/b"}}),
        build(name="child", target="/u"),
    )
    uris = [
        asset.uri for dag in map(refresh_dag, (parent, child)) for t in dag.tasks for asset in (*t.inlets, *t.outlets)
    ]
    assert len(set(uris)) == len(uris) == 6
