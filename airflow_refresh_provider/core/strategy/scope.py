"""The scope of a refresh: only the windows of its inputs that have not been applied, or everything.

An incremental refresh applies the changes of a window to what the last refresh wrote. When the changes may be
incomplete, or the target may have other rows, the next refresh compares everything, and its reason says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from airflow_refresh_provider.core.changes.history import InputHistory, Window, Windows
from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.core.text.stored import Stored

MOST_TOUCHED = 0.2
"""Mode AUTO follows changes that touch up to this many values, as a share of the rows of the target: with more of them
reading only what they need saves nothing."""

UNCHANGED = "no input has changed a row since the last refresh"


class Scope(Stored):
    """What a refresh reads: the windows, or everything when there are none. `reason` says why, for people."""

    windows: Windows = {}
    reason: str


@dataclass(frozen=True)
class ScopeFacts:
    """The facts of the decision. `histories`: input -> its history since `published`, None when it is incomplete.

    `obstacle`: why the query cannot be maintained from changes alone, with the position; None when it can.
    `target_changed`: why the target may have other rows than the last refresh wrote. `insist`: the caller wants
    everything compared although nothing seems to have changed.
    """

    mode: Mode
    definition_hash: str
    published: Published | None
    pins: VersionVector
    histories: Mapping[str, InputHistory | None]
    obstacle: str | None
    now: datetime
    insist: bool = False
    target_changed: str | None = None


def scope(facts: ScopeFacts) -> Scope:
    """What the next refresh reads."""
    windows = _windows(facts)
    if isinstance(windows, str):
        return Scope(reason=windows)
    histories = [(name, facts.histories[name]) for name in windows]
    known = [(name, history) for name, history in histories if history is not None]
    changed = any(history.changed for _, history in known)
    if facts.insist and not changed:
        return Scope(reason="a full refresh was requested")
    if facts.mode is Mode.FULL and changed:
        return Scope(reason="its mode is full")
    if facts.target_changed:
        return Scope(reason=facts.target_changed)
    if not changed:
        return Scope(windows=windows, reason=UNCHANGED)
    if facts.obstacle:
        return Scope(reason=facts.obstacle)
    for name, history in known:
        if history.changed and (reason := _unusable(name, history, windows[name], facts)):
            return Scope(reason=reason)
    return Scope(windows=windows, reason=f"changes of {', '.join(f'{n} in {w.label}' for n, w in windows.items())}")


def too_many_touched(mode: Mode, touched: int, target_rows: int, anchors: tuple[str, ...]) -> str | None:
    """Why mode AUTO computes everything although the changes could be followed; None where it follows them."""
    if mode is not Mode.AUTO or touched <= MOST_TOUCHED * target_rows:
        return None
    return f"the changes touch {touched:,} values of {', '.join(anchors)}, for {target_rows:,} rows of the target"


def _windows(facts: ScopeFacts) -> Windows | str:
    """The versions of each input that have not been applied, or why that is not known."""
    if facts.published is None:
        return "it is the first refresh"
    if facts.published.definition_hash != facts.definition_hash:
        return "the definition has changed since the last refresh"
    if facts.published.clocked:
        return "the query reads the clock"
    windows = {}
    for name, pin in facts.pins.items():
        applied = facts.published.pins.get(name)
        if applied is not None and pin.same_as(applied):
            continue
        found = _window(name, applied, pin, facts)
        if isinstance(found, str):
            return found
        windows[name] = found
    return windows


def _window(name: str, applied: Pin | None, pin: Pin, facts: ScopeFacts) -> Window | str:
    if applied is not None and not applied.located:
        return f"a variable in the path of the input {name} has another value than at the last refresh"
    if applied is None or not pin.follows(applied):
        return f"the input {name} is another table than at the last refresh"
    if facts.histories.get(name) is None:
        return applied.lost_history(name)
    return Window(after=applied.digest, upto=pin.digest)


def _unusable(name: str, history: InputHistory, window: Window, facts: ScopeFacts) -> str | None:
    """Why the changes in a window cannot be read, or should not be."""
    if history.reshaped:
        return f"the columns of the input {name} have changed since version {window.after}"
    if not history.change_sources:
        return f"the log of the input {name} does not say which rows have changed since version {window.after}"
    source = history.best_source(facts.now)
    if source is None:
        until = history.readable_until
        return (
            f"the input {name} has kept its changes since version {window.after} only until {until:%Y-%m-%d %H:%M} UTC"
        )
    pin = facts.pins[name]
    if facts.mode is Mode.AUTO and pin.bytes is not None and source.bytes > pin.bytes:
        return f"the changes of the input {name} are larger than the input"
    return None
