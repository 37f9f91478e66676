"""Owners, other writers and crashes in every order, up to a number of deviations from an undisturbed run."""

from functools import partial

import pytest

from tests.model.scenarios import SCENARIOS, Scenario
from tests.model.search import search

by_name = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)


@by_name
def test_every_single_disturbance_and_a_sample_of_pairs_leave_the_target_exact(scenario: Scenario) -> None:
    found = search(scenario.play, deviations=2, at_most=40)
    assert found.played is None, str(found)
    assert found.schedules > 60


@by_name
@pytest.mark.slow
def test_many_pairs_of_disturbances_leave_the_target_exact(scenario: Scenario) -> None:
    found = search(scenario.play, deviations=2, at_most=500)
    assert found.played is None, str(found)


@by_name
@pytest.mark.slow
def test_disturbances_between_any_two_reads_leave_the_target_exact(scenario: Scenario) -> None:
    found = search(partial(scenario.play, every_read=True), deviations=3, at_most=400)
    assert found.played is None, str(found)
