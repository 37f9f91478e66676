"""What a refresh of one changed row reads and sends. Each act is milliseconds, of which fifty tables make seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import Opened
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.world import COLUMNS, INPUT, NAME, ONE, TARGET, World, definition, row

Acts = Counter[str]


class Counted:
    """A port whose calls are counted, by the name of the method."""

    def __init__(self, port: Any, acts: Acts) -> None:
        self._port = port
        self._acts = acts

    def keeping(self, opened: Opened) -> Any:
        """The same: what stays open is counted each time."""
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)

        def counted(*args: Any, **named: Any) -> Any:
            self._acts[f"{name} {args[0]}" if args and args[0] in (INPUT, TARGET) else name] += 1
            return found(*args, **named)

        return counted if callable(found) else found


class CountedEngine(Counted):
    """An engine whose sessions are counted too."""

    def open(self, session_id: str) -> EngineSession:
        """Open a session."""
        opened: EngineSession = Counted(self._port.open(session_id), self._acts)
        return opened


@pytest.fixture
def world() -> World:
    """A world whose first refresh is done."""
    world = World(*(row(i) for i in range(6)), mode="incremental")
    world.run()
    return world


def _refreshed(world: World, outcome: Outcome) -> tuple[Acts, Acts, Acts]:
    """What one more refresh asks of the logs, of the engine and of the control store."""
    log, engine, store = Counter[str](), Counter[str](), Counter[str]()
    ports = replace(
        world.ports,
        log=Counted(world.ports.log, log),
        engine=CountedEngine(world.ports.engine, engine),
        store=Counted(world.ports.store, store),
    )
    assert Refreshes(ports).run(NAME, ONE).outcome is outcome
    engine.pop("seconds", None)  # a session knows it by itself
    return log, engine, store


def test_one_changed_row_looks_at_the_target_twice_and_sends_a_hint_and_three_acts_to_the_engine(world: World) -> None:
    world.lake.append(INPUT, [row(7)])
    log, engine, store = _refreshed(world, Outcome.SUCCEEDED)
    assert world.fresh()
    assert log[f"facts {TARGET}"] == 2
    assert log[f"facts {INPUT}"] == 0
    assert log[f"oldest {TARGET}"] == 0
    assert log[f"identity {TARGET}"] <= 4
    acts = {"describe": 1, f"expect_commit {TARGET}": 1, "read_windows": 1, "apply": 1, "close": 1}
    assert engine == acts
    assert store["commit"] == 6


def test_a_new_column_is_added_to_a_target_that_is_then_read_again(world: World) -> None:
    world.lake.reshape(INPUT, columns=(*world.lake.table(INPUT).newest.columns, Column(name="w", type="string")))
    world.lake.append(INPUT, [row(7) | {"w": "x"}])
    log, engine, _ = _refreshed(world, Outcome.SUCCEEDED)
    assert log[f"facts {TARGET}"] == 3
    assert engine[f"evolve {TARGET}"] == 1


def test_nothing_to_do_looks_at_the_target_once_and_writes_nothing(world: World) -> None:
    log, engine, store = _refreshed(world, Outcome.NOTHING_TO_DO)
    assert log[f"facts {TARGET}"] == 1
    assert log[f"facts {INPUT}"] == 0
    assert engine == {}
    assert store["commit"] == 0


def _reads_of_inputs(world: World, *, due: bool) -> Acts:
    """What a refresh, if only a due one, asks of the inputs."""
    reads = Counter[str]()
    inputs = {name: Counted(kind, reads) for name, kind in world.ports.inputs.items()}
    refreshes = Refreshes(replace(world.ports, inputs=inputs))
    result = refreshes.run_several(Selection((NAME,)), ONE, due=due)
    assert result.outcome is Outcome.SUCCEEDED
    assert world.fresh()
    return reads


def test_the_decision_that_a_refresh_is_due_costs_no_other_look_at_the_inputs(world: World) -> None:
    world.refreshes.register(definition(mode="incremental", refresh={"on_change": True}))
    world.lake.append(INPUT, [row(7)])
    without_asking = _reads_of_inputs(world, due=False)
    world.lake.append(INPUT, [row(8)])
    assert _reads_of_inputs(world, due=True) == without_asking
    assert without_asking["pin"] == 2  # to start, and at the end for how far behind the target is


def test_a_refresh_by_another_process_after_the_decision_is_not_undone(world: World) -> None:
    world.refreshes.register(definition(mode="incremental", refresh={"on_change": True}))
    world.lake.append(INPUT, [row(7)])
    decided: list[bool] = []

    class Overtaken(Counted):
        def history(self, *args: Any) -> Any:
            found = self._port.history(*args)
            if not decided:
                decided.append(True)
                world.lake.append(INPUT, [row(8)])
                world.another()
            return found

    inputs = {name: Overtaken(kind, Counter()) for name, kind in world.ports.inputs.items()}
    result = Refreshes(replace(world.ports, inputs=inputs)).run_several(Selection((NAME,)), ONE, due=True)
    assert decided
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert world.fresh()


class _Describing(Counted):
    """An engine whose sessions note the columns of inputs by which a query is described."""

    def __init__(self, port: Any, known: list[dict[str, Columns]]) -> None:
        super().__init__(port, Counter())
        self._known = known

    def open(self, session_id: str) -> EngineSession:
        """Open a session."""
        opened: EngineSession = _Describing(self._port.open(session_id), self._known)
        return opened

    def describe(self, source: Source) -> Columns:
        """Describe, and note."""
        self._known.append(source.columns)
        found: Columns = self._port.describe(source)
        return found


@pytest.mark.parametrize(("mode", "known"), [(Mode.INCREMENTAL, {"x": COLUMNS}), (Mode.FULL, {})])
def test_only_a_query_whose_changes_are_followed_is_described_without_its_inputs(
    world: World, mode: Mode, known: dict[str, Columns]
) -> None:
    world.lake.append(INPUT, [row(7)])
    noted: list[dict[str, Columns]] = []
    refreshes = Refreshes(replace(world.ports, engine=_Describing(world.ports.engine, noted)))
    assert refreshes.run(NAME, Request(workers=1, mode=mode)).outcome is Outcome.SUCCEEDED
    assert noted == [known]
