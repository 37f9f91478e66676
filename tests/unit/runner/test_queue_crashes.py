"""Whatever processes die, a request waits or was served once."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.queued import PLAIN, end, held, ids
from tests.unit.runner.world import NAME, World, row

POINTS = st.none() | st.sampled_from(["read input", "read facts", "open session", "commit"])
ACTS = st.lists(
    st.tuples(st.just("ask"), st.integers(1, 4))
    | st.tuples(st.just("serve"), POINTS)
    | st.tuples(st.sampled_from(["by hand", "end"]), st.none()),
    max_size=12,
)


def answered_without_a_run(world: World, crash_at: str | None) -> list[str]:
    """Take the queue in a process that may crash; the ids of the requests for which nothing was to do."""
    process = world.process()
    with at(world.lake, crash_at or "no such step"):
        try:
            steps = Refreshes(process).run_waiting(NAME).refreshes
        except Killed:
            world.die(process)
            return []
    idle = [step.result for step in steps if step.result and step.outcome is Outcome.NOTHING_TO_DO]
    return [one for result in idle for one in result.requests]


@given(ACTS)
@settings(max_examples=60, deadline=None)
def test_if_processes_crash_each_request_waits_or_was_served_once(acts: list[tuple[str, Any]]) -> None:
    world = held()
    asked: set[str] = set()
    idle: list[str] = []
    for number, (what, how) in enumerate(acts):
        if what == "ask":
            result = world.another(PLAIN.model_copy(update={"budget_seconds": 10**6 * how}))
            asked |= set(result.requests)
            idle += result.requests if result.outcome is Outcome.NOTHING_TO_DO else ()
        elif what == "serve":
            idle += answered_without_a_run(world, how)
        elif what == "by hand":
            world.become(row(number))
        elif world.record.run and world.record.run.origin:
            end(world)
    served = [one for entry in world.refreshes.history(NAME) for one in entry.requests]
    served += world.record.run.requests if world.record.run else ()
    assert sorted([*ids(world), *served, *idle]) == sorted(asked)
