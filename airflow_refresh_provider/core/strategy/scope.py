"""The scope of a refresh: only the windows of its inputs that have not been applied, or everything.

An incremental refresh applies the changes of a window to what the last refresh wrote. When the changes may be
incomplete, or the target may have other rows, the next refresh compares everything, and its reason says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from airflow_refresh_provider.core.changes.history import InputHistory, Window, Windows
from airflow_refresh_provider.core.changes.pins import Pin, VersionVector, size_of
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because
from airflow_refresh_provider.core.run.measured import Measured
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.core.strategy.costing import CostFacts, full_is_cheaper, tried_again
from airflow_refresh_provider.core.text.stored import Stored

NO_MOMENT = "the query reads the clock, and the moment of the last refresh is not known"
UNCHANGED = "no input has changed a row since the last refresh"
_TRIED_AGAIN = "; tried again after refreshes that computed everything"


class Scope(Stored):
    """What a refresh reads: the windows, or everything when there are none, and why.

    `change_bytes` are to be read for the changes in the windows, by input, where these could be followed; `change_rows`
    are about how many these are, of inputs whose logs say it.
    `maintenance`: how they are followed, None where that is row by row.
    """

    windows: Windows = {}
    reason: Reason
    change_bytes: dict[str, int] = {}
    change_rows: dict[str, int] = {}
    maintenance: Maintenance | None = None


@dataclass(frozen=True)
class ScopeFacts:
    """The facts of the decision. `histories`: input -> its history since `published`, None when it is incomplete.

    `obstacle`: why the query cannot be maintained from changes alone, with the position; None when it can.
    `lost_trust`: why its changes are not followed any more. `target_changed`: why the target may have other rows than
    the last refresh wrote. `insist`: the caller wants everything compared although nothing seems to have changed.
    `measured`: how long the last refreshes took. `clock_moved`: what the query reads of the clock is not what the last
    refresh has read. `follows_time`: it reads it in temporal filters alone.
    """

    mode: Mode
    definition_hash: str
    published: Published | None
    pins: VersionVector
    histories: Mapping[str, InputHistory | None]
    obstacle: str | None
    now: datetime
    lost_trust: Reason | None = None
    insist: bool = False
    target_changed: str | None = None
    measured: Measured = field(default_factory=Measured)
    clock_moved: bool = False
    follows_time: bool = False


def scope(facts: ScopeFacts) -> Scope:
    """What the next refresh reads."""
    windows = _windows(facts)
    if isinstance(windows, Reason):
        return Scope(reason=windows)
    histories = [(name, facts.histories[name]) for name in windows]
    known = [(name, history) for name, history in histories if history is not None]
    changed = facts.clock_moved or any(history.changed for _, history in known)
    if facts.insist and not changed:
        return _everything(ReasonCode.FULL_REQUESTED, "a full refresh was requested")
    if facts.mode is Mode.FULL and changed:
        return _everything(ReasonCode.MODE_FULL, "its mode is full")
    if facts.target_changed:
        return _everything(ReasonCode.TARGET_CHANGED, facts.target_changed)
    if not changed:
        return Scope(windows=windows or _empty(facts.pins), reason=because(ReasonCode.NOTHING_CHANGED, UNCHANGED))
    if facts.lost_trust:
        return Scope(reason=facts.lost_trust)
    if facts.obstacle:
        return _everything(ReasonCode.NOT_FOLLOWED, facts.obstacle)
    for name, history in known:
        if history.changed and (reason := _unusable(name, history, windows[name], facts)):
            return Scope(reason=reason)
    sources = {name: history.best_source(facts.now) for name, history in known if history.changed}
    sizes = {name: source.bytes for name, source in sources.items() if source}
    counts = {name: history.changed_rows for name, history in known if name in sizes}
    found = _by_cost(facts, windows or _empty(facts.pins), sizes)
    return found.model_copy(update={"change_rows": {n: rows for n, rows in counts.items() if rows is not None}})


def _by_cost(facts: ScopeFacts, windows: Windows, sizes: dict[str, int]) -> Scope:
    """The windows, unless mode AUTO computes everything because that costs less."""
    cost = CostFacts(facts.measured, sum(sizes.values()), size_of(facts.pins))
    if reason := full_is_cheaper(facts.mode, cost):
        return Scope(reason=reason, change_bytes=sizes)
    moved = [f"{n} in {w.label}" for n, w in windows.items() if w.after != w.upto]
    found = [f"changes of {', '.join(moved)}"] if moved else []
    found += ["rows that come and go with time"] if facts.clock_moved else []
    again = _TRIED_AGAIN if facts.mode is Mode.AUTO and tried_again(cost) else ""
    return Scope(windows=windows, reason=because(ReasonCode.CHANGES, " and ".join(found) + again), change_bytes=sizes)


def _everything(code: ReasonCode, text: str) -> Scope:
    return Scope(reason=because(code, text))


def _windows(facts: ScopeFacts) -> Windows | Reason:
    """The versions of each input that have not been applied, or why that is not known."""
    if facts.published is None:
        return because(ReasonCode.FIRST_REFRESH, "it is the first refresh")
    if facts.published.definition_hash != facts.definition_hash:
        return because(ReasonCode.DEFINITION_CHANGED, "the definition has changed since the last refresh")
    if facts.clock_moved and not facts.follows_time:
        return because(ReasonCode.CLOCK, "the query reads the clock")
    if facts.clock_moved and facts.published.started_at is None:
        return because(ReasonCode.CLOCK, NO_MOMENT)
    windows = {}
    for name, pin in facts.pins.items():
        applied = facts.published.pins.get(name)
        if applied is not None and pin.same_as(applied):
            continue
        found = _window(name, applied, pin, facts)
        if isinstance(found, Reason):
            return found
        windows[name] = found
    return windows


def _empty(pins: VersionVector) -> Windows:
    """Windows without changes, for a refresh that only publishes the same rows at a newer version of the target."""
    return {name: Window(after=pin.digest, upto=pin.digest) for name, pin in pins.items()}


def _window(name: str, applied: Pin | None, pin: Pin, facts: ScopeFacts) -> Window | Reason:
    if applied is not None and not applied.located:
        text = f"a variable in the path of the input {name} has another value than at the last refresh"
        return because(ReasonCode.VARIABLE_CHANGED, text)
    if applied is None or not pin.follows(applied):
        text = f"the input {name} is another table than at the last refresh"
        return because(ReasonCode.INPUT_REPLACED, text)
    if facts.histories.get(name) is None:
        return because(ReasonCode.HISTORY_LOST, applied.lost_history(name))
    return Window(after=applied.digest, upto=pin.digest)


def _unusable(name: str, history: InputHistory, window: Window, facts: ScopeFacts) -> Reason | None:
    """Why the changes in a window cannot be read, or should not be."""
    if history.reshaped:
        text = f"the columns of the input {name} have changed since version {window.after}"
        return because(ReasonCode.COLUMNS_CHANGED, text)
    if not history.change_sources:
        text = f"the log of the input {name} does not say which rows have changed since version {window.after}"
        return because(ReasonCode.CHANGES_UNKNOWN, text)
    source = history.best_source(facts.now)
    if source is None:
        until = f"{history.readable_until:%Y-%m-%d %H:%M} UTC"
        text = f"the input {name} has kept its changes since version {window.after} only until {until}"
        return because(ReasonCode.CHANGES_EXPIRED, text)
    pin = facts.pins[name]
    if facts.mode is Mode.AUTO and pin.bytes is not None and source.bytes > pin.bytes:
        text = f"more is to be read for the changes of the input {name} than it has in all"
        return because(ReasonCode.CHANGES_LARGER, text)
    return None
