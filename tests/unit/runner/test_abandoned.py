"""Unfinished runs that cannot or may not be resumed are abandoned with a reason, but never once sealed."""

from typing import Any

import pytest

from airflow_refresh_provider.core.log.seal import seals
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner import phased
from tests.unit.runner.disturbed import LIVE, changed, cut_off
from tests.unit.runner.faults import at
from tests.unit.runner.world import INPUT, NAME, RESTART, TARGET, World, definition, row


def test_a_run_is_abandoned_when_its_definition_changed() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert cut_off(world)
    world.die(world.ports)
    world.refreshes.register(definition(**LIVE, vnodes=16))
    result = world.another()
    assert not result.resumed
    assert world.fresh()
    newest, abandoned = world.refreshes.history(NAME)[:2]
    assert (newest.outcome, abandoned.outcome) == (Outcome.SUCCEEDED, Outcome.ABANDONED)
    assert "definition was changed" in (abandoned.reason or "")


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda w: w.lake.remove(TARGET), "no longer the table"),
        (lambda w: setattr(w.lake.table(INPUT), "oldest", 9), "cannot be finished"),
        (lambda w: setattr(w.lake.table(TARGET), "oldest", len(w.commits)), "no longer reaches back"),
        (lambda w: w.lake.remove(w.interrupted.plan.staging), "are gone"),
        (lambda w: lose_a_change(w), "are left"),
    ],
    ids=["target dropped", "input gone", "log cleaned", "staging gone", "part of staging gone"],
)
def test_a_run_that_cannot_be_resumed_is_abandoned_with_its_reason(happens: Any, reason: str) -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=3):
        assert cut_off(world)
    world.die(world.ports)
    happens(world)
    world.lake.append(INPUT, [row(60)])
    if "cannot be finished" in reason:
        world.lake.table(INPUT).oldest = len(world.lake.table(INPUT).versions) - 1
    world.another()
    assert world.fresh()
    assert reason in (world.refreshes.history(NAME)[1].reason or "")


@pytest.mark.parametrize("happens", [lambda w: w.lake.remove(w.interrupted.plan.staging), lambda w: lose_a_change(w)])
def test_a_task_applies_no_part_of_the_changes_that_another_has_staged(happens: Any) -> None:
    world = phased.changed()
    phased.started(world)
    [unit] = phased.loaded(world)
    before = world.lake.rows(TARGET)
    happens(world)
    with pytest.raises(Failed) as raised:
        phased.merged(world, unit)
    assert (raised.value.code, world.lake.rows(TARGET)) == ("staging_lost", before)

    result = Refreshes(phased.ended(world, "dag/one")).run(NAME, phased.OTHER)
    assert (result.outcome, result.resumed, world.fresh()) == (Outcome.SUCCEEDED, False, True)


def lose_a_change(world: World) -> None:
    """A staged file is no longer there."""
    frozen = world.interrupted.frozen
    assert frozen and frozen.current.changes
    files = world.lake.table(frozen.current.changes.location).versions[-1].files
    name, rows = next((name, rows) for name, rows in files.items() if rows)
    files[name] = rows[1:]


@pytest.mark.parametrize("code", ["input_missing", "input_unreadable", "bad_value", "target_changed"])
def test_a_run_whose_inputs_cannot_be_read_is_abandoned_by_the_next(code: str) -> None:
    world = World(row(1))
    world.run()
    world.become(row(1, "b"))
    gone = Failed(code, "x has no files any more", left="as it was", next="restore them")
    with at(world.lake, "begin /gold", lambda: gone), pytest.raises(Failed, match="no files any more"):
        world.another()
    kept = world.interrupted.run_id
    result = world.another()
    assert result.run_id != kept and not result.resumed
    assert next(e.reason for e in world.refreshes.history(NAME) if e.run_id == kept) == (
        "it cannot be finished: x has no files any more"
    )
    assert world.fresh()


def test_a_restart_abandons_an_interrupted_run() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2):
        assert cut_off(world)
    world.die(world.ports)
    assert not world.another(RESTART).resumed
    assert world.fresh()


@pytest.mark.parametrize("options", [{}, LIVE], ids=["by its chunk", "by a seal"])
@pytest.mark.parametrize("nth", range(1, 30))
def test_a_sealed_run_is_published_and_never_abandoned(nth: int, options: dict[str, Any]) -> None:
    world = changed(**options)
    before = len(world.commits)
    with at(world.lake, "read", nth=nth):
        cut_off(world)
    sealed = any(seal.version >= before for seal in seals(world.commits, world.lake.table(TARGET).table_id))
    unpublished = world.record.run is not None
    world.die(world.ports)
    world.another(RESTART)
    assert world.fresh()
    if sealed and unpublished:
        assert Outcome.ABANDONED not in {h.outcome for h in world.refreshes.history(NAME)}
