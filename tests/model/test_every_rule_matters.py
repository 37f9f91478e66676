"""Each rule of the protocol, disabled alone, must lead some schedule to a violation."""

from functools import partial

import pytest

from tests.model import rules, target_rules, unit_rules
from tests.model.rules import Rule
from tests.model.scenarios import SCENARIOS
from tests.model.search import search

_NOT_THERE = ("TypeError", "AttributeError", "NameError")
"""What a rule fails with that is disabled by a name, or an argument, that is not there any more."""
RULES = [*rules.RULES, *unit_rules.RULES, *target_rules.RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_without_this_rule_some_schedule_goes_wrong(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = next(s for s in SCENARIOS if s.name == rule.scenario)
    rule.off(monkeypatch)
    found = search(partial(scenario.play, every_read=rule.every_read), deviations=2, at_most=2500)
    assert found.played, f"no violation after {found}"
    assert len(found.schedule) <= 2
    assert not any(name in str(found) for name in _NOT_THERE), f"the rule is not disabled as intended: {found}"
