"""The rules of units and of the tasks that merge them in parallel, each with a way to disable it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.run.prepared import FrozenRun
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.runner.hold import leases, takeover
from airflow_refresh_provider.runner.hold.fence import fence_slot
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.steps import merge, one_task
from tests.model.rules import Rule


def _no_unit_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(merge, "fence_unit", lambda *_: None)


def _every_slot_fenced(patch: pytest.MonkeyPatch) -> None:
    """A new owner of one unit fences the owners of all."""

    def all_of(tenure: Tenure, session: EngineSession, held: FrozenRun, _slot: int, generation: int) -> None:
        for slot in held.frozen.slots:
            fence_slot(tenure, session, held, slot, generation)

    patch.setattr(merge, "fence_slot", all_of)


def _claims_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A task that attaches to the run does not know the owners of its units."""
    real = leases.with_new_lease

    def alone(*args: Any, **how: Any) -> Run:
        return real(*args, **how).model_copy(update={"claims": {}})

    patch.setattr(takeover, "with_new_lease", alone)


def _claimed_at_any_time(patch: pytest.MonkeyPatch) -> None:
    """A task claims its unit even while another holds the whole run."""
    real = one_task._own_run

    def parked(*args: Any) -> Run:
        run = real(*args)
        return run.model_copy(update={"lease": run.lease.parked(run.started_at)})

    patch.setattr(one_task, "_own_run", parked)


RULES = [
    Rule("a new owner of a unit fences its slot", "a unit of a first load", _no_unit_fence),
    Rule("a new owner of a unit fences no other slot", "a unit of a first load", _every_slot_fenced),
    Rule("a task that attaches to a run knows the owners of its units", "tasks of changes", _claims_forgotten),
    Rule("units are claimed only while the run has no owner", "tasks of a first load", _claimed_at_any_time),
]
