"""A run by what is known of it: prepared once its target is ready, frozen once its chunks are planned."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.core.plan.plan import Chunk, Frozen, Plan, Round, Target, Unit
from airflow_refresh_provider.core.run.record import Run


@dataclass(frozen=True)
class PreparedRun:
    """A run whose target exists and is identified."""

    run: Run
    target: Target

    @property
    def plan(self) -> Plan:
        """What the run was started with."""
        return self.run.plan


@dataclass(frozen=True)
class FrozenRun(PreparedRun):
    """A prepared run whose units and chunks are fixed."""

    frozen: Frozen

    @property
    def current(self) -> Round:
        """The newest round."""
        return self.frozen.current

    @property
    def chunks(self) -> tuple[tuple[Unit, Chunk], ...]:
        """Every chunk of all rounds, with its unit."""
        return tuple((unit, chunk) for one in self.frozen.rounds for unit in one.units for chunk in unit.chunks)


def prepared(run: Run) -> PreparedRun:
    """A run after PREPARE."""
    target = run.plan.target
    assert target is not None, f"run {run.run_id} is not prepared"
    return PreparedRun(run, target)


def frozen(run: Run) -> FrozenRun:
    """A run after FREEZE."""
    found = frozen_or_none(run)
    assert found is not None, f"run {run.run_id} is not frozen"
    return found


def frozen_or_none(run: Run) -> FrozenRun | None:
    """A run after FREEZE, None before."""
    if run.plan.target is None or run.frozen is None:
        return None
    return FrozenRun(run, run.plan.target, run.frozen)
