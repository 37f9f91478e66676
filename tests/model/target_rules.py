"""The rules about the target itself: that it is still the same table, and that its log is complete."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.run import recovery
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.hold import takeover
from airflow_refresh_provider.runner.steps import gate
from airflow_refresh_provider.testing.memory_reads import MemoryLog
from tests.model.rules import Rule


def _replacement_unseen(patch: pytest.MonkeyPatch) -> None:
    """Any table at the target's location is the target."""
    patch.setattr(targets, "check_in_place", lambda *_: None)


def _replacement_taken_over(patch: pytest.MonkeyPatch) -> None:
    """A take-over does not check whether the target was replaced."""
    real = recovery.next_step

    def blind(run: Any, facts: Any) -> Any:
        return real(run, facts.model_copy(update={"target_replaced": False}))

    patch.setattr(takeover, "next_step", blind)


def _gaps_unseen(patch: pytest.MonkeyPatch) -> None:
    """The commits that are left of a cleaned log are taken for all, and the growth is not checked."""
    real = MemoryLog.commits

    def what_is_left(log: MemoryLog, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        return real(log, location, max(after, log.oldest(location) - 1), upto)

    patch.setattr(MemoryLog, "commits", what_is_left)
    patch.setattr(gate, "_grown_as_planned", lambda *_: True)


RULES = [
    Rule("a run ends when its target was replaced", "replaced", _replacement_unseen),
    Rule("a run whose target was replaced is abandoned", "replaced", _replacement_taken_over),
    Rule("a gap in the log may hide anything", "log cleaned of a foreign insert", _gaps_unseen),
]
