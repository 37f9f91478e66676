"""The changes of inputs in the windows of a run: which there are, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import Pin
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource, ChangeSourceInfo
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.plan import Frozen
from airflow_refresh_provider.core.plan.policy import ENVIRONMENT_ERRORS, check_deletes
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.core.run.record import Published, Run
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.tasks import Comparison, Disagreement
from airflow_refresh_provider.runner.facts import hidden_values, pinned_inputs
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.windows import rounds

_Read = TypeVar("_Read")

CLEANED_UP = because(ReasonCode.HISTORY_LOST, "the log of an input was cleaned up while its window was read")


@dataclass(frozen=True)
class Sampled:
    """How many values of the anchors were computed again as a sample, and what differed."""

    values: int
    found: Disagreement


@dataclass(frozen=True)
class Unverified:
    """What an incremental refresh would apply that a whole comparison has to verify first.

    `sampled`: the sample that has led to it, if one has.
    """

    found: Comparison
    touched: int
    engine: str
    added_up: bool = False
    sampled: Sampled | None = None


@dataclass(frozen=True)
class Loaded:
    """What was frozen from windows; or nothing, and why everything is compared, and what that has to verify.

    `touched_at`: when the touched values were known, where there are any, and `estimates`: what was foreseen then.
    """

    frozen: Frozen | None = None
    reason: Reason | None = None
    unverified: Unverified | None = None
    touched_at: datetime | None = None
    estimates: Estimates | None = None


@dataclass(frozen=True)
class Changes:
    """What has changed in an input between two states, and the source it is read from. `adds_only`: no row went.

    `counted`: about how many rows have changed, None where its log does not say it.
    """

    applied: Pin
    newest: Pin
    source: ChangeSourceInfo
    adds_only: bool
    counted: int | None = None

    @property
    def rows(self) -> int:
        """About how many rows are read: files have others beside those that have changed."""
        if self.counted is not None and self.source.source is ChangeSource.FEED:
            return self.counted
        return round((self.newest.rows or 0) * self.source.bytes / self.newest.bytes) if self.newest.bytes else 0


def known_histories(ports: Ports, run: Run, published: Published) -> dict[str, InputHistory] | None:
    """The histories of the plan's windows, None when one of them is no longer available."""
    found = {}
    for name in run.plan.windows:
        newest = run.plan.pins[name]
        history = ports.inputs[newest.format].history(_applied(run, published, name), newest)
        if history is None:
            return None
        found[name] = history
    return found


def changes_of(
    ports: Ports, run: Run, published: Published, known: dict[str, InputHistory]
) -> dict[str, Changes] | None:
    """What has changed in the inputs that did, None when every change source of one of them has expired meanwhile."""
    found = {}
    for name, history in known.items():
        if not history.changed:
            continue
        source = history.best_source(ports.clock.now())
        if source is None:
            return None
        # Versions before the first change need not be kept.
        applied = _at(_applied(run, published, name), history.changes[0].version - 1)
        found[name] = Changes(applied, run.plan.pins[name], source, history.adds_only, history.changed_rows)
    return found


def _applied(run: Run, published: Published, name: str) -> Pin:
    """The state at which the plan's window of an input begins."""
    return _at(published.pins[name], run.plan.windows[name].after)


def _at(pin: Pin, digest: int | str) -> Pin:
    """The input at another state, or at this one where no other can be named."""
    return pin.at(digest, pin.table_id) or pin


def read_of(ports: Ports, definition: Definition, name: str, changes: Changes, location: str) -> ChangedRows:
    """What an engine reads of an input; what it has to stage first goes beside `location`."""
    kind, options = ports.inputs[changes.newest.format], pinned_inputs.options(ports, definition, name)
    return kind.changes(changes.applied, changes.newest, changes.source.source, f"{location}-{name}", options)


def unless_unreadable(ports: Ports, definition: Definition, read: Callable[[], _Read]) -> _Read | Reason:
    """What was read of changes, or why they cannot be read: then everything is compared.

    A full disk is no reason: comparing would need more of it.
    """
    try:
        with hidden_values.without_values(ports.environment, definition.inputs.values()):
            return read()
    except (Failed, Invalid) as error:
        if error.code in ENVIRONMENT_ERRORS:
            raise
        text = f"the changes of the inputs cannot be read: {error.kept(redact=definition.redact_keys)}"
        return because(ReasonCode.CHANGES_UNREADABLE, text)


def frozen_of(run: Run, ready: Ready, read: Comparison) -> Frozen:
    """The plan that follows from a change set. Raises Refused where it deletes too much."""
    total = read.total
    check_deletes(total.deleted, read.target_rows, run.definition.max_delete_ratio, force=run.plan.force)
    return Frozen(
        rounds=(rounds.round_of(prepared(run), ready.version, read),),
        source_rows=read.source_rows,
        unchanged=read.target_rows - total.updated - total.deleted,
    )
