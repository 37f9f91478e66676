"""The one table of transitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.run.lifecycle import TRANSITIONS, Event, State, advance
from airflow_refresh_provider.errors import Defect


@given(st.sampled_from(State), st.sampled_from(Event))
def test_a_transition_happens_exactly_when_the_table_has_it(state: State, event: Event) -> None:
    if (state, event) in TRANSITIONS:
        assert advance(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(Defect, match=f"{event.value} is not possible"):
            advance(state, event)


def test_every_state_is_reached_and_every_state_leads_back_to_idle() -> None:
    assert _reachable(State.IDLE) == set(State)
    assert all(State.IDLE in _reachable(state) for state in State)


def test_every_event_is_used() -> None:
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_only_freezing_starts_the_merge_and_only_then_a_run_is_published() -> None:
    into = {event for (state, event), then in TRANSITIONS.items() if then is State.FINISHING is not state}
    assert into == {Event.FREEZE}
    assert [s for s, e in TRANSITIONS if e is Event.PUBLISH] == [State.FINISHING]


def test_a_started_run_ends_in_one_of_three_ways() -> None:
    busy = {State.REFRESHING, State.FINISHING}
    leaving = {e for (s, e), then in TRANSITIONS.items() if s in busy and then not in busy}
    assert leaving == {Event.END, Event.ABANDON, Event.DROP}


def _reachable(start: State) -> set[State]:
    seen = {start}
    while more := {then for (state, _), then in TRANSITIONS.items() if state in seen} - seen:
        seen |= more
    return seen
