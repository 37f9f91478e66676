"""Tables of explanations: how a definition follows its inputs, and what its next refresh does, and its last one did."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.foreseen import Foreseen, NextMode
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.explanation import Explanation, Follows, LastRefresh
from airflow_refresh_provider.core.text.wording import counted, listed
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.explanation_lines import REFUSED, advice_lines, how_followed, short_reason
from airflow_refresh_provider.views.result_table import Cell, ResultTable, details, name_value_table, row

_FOLLOWS = {
    Follows.EVERY_INPUT: "every input is followed",
    Follows.SOME_INPUTS: "some inputs are followed",
    Follows.NO_INPUT: "no input is followed: a change has everything computed",
}


@row.register
def _(value: Explanation) -> dict[str, Cell]:
    return {
        "name": value.name,
        "mode": value.mode.value,
        "follows": follows_text(value),
        "next refresh": next_text(value.next),
        "not followed": "; ".join(f"{one.name}: {short_reason(one)}" for one in value.inputs if not one.followed)
        or None,
    }


@details.register
def _(value: Explanation) -> ResultTable:
    """The definition, a line for each of its inputs, and the next refresh."""
    cells: dict[str, Cell] = {"name": value.name, "mode": f"{value.mode}: {follows_text(value)}"}
    cells |= {f"changes of {one.name}": how_followed(one, value) for one in value.inputs}
    cells |= _last(value.last) if value.last else {}
    if value.unfinished_run:
        cells |= {"unfinished run": f"{value.unfinished_run}: it is resumed or ends first; then:"}
    if value.next:
        cells |= {"next refresh": next_text(value.next), "changes": _changes(value)}
        cells |= {"reads": _reads(value.next), "foreseen": value.next.text}
    if value.changed_upstream:
        cells |= {"upstream": _upstream(value, value.changed_upstream)}
    error = value.error
    notes = (f"{error.message} [{error.code}] {error.next}",) if error else ()
    return name_value_table(cells.items(), (*notes, *advice_lines(value)))


def _upstream(value: Explanation, names: tuple[str, ...]) -> str:
    have = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {have} changes to apply first; 'airflow-refresh cascade {value.name}' does both"


def _changes(value: Explanation) -> str | None:
    """About how many rows of the inputs have changed, and what they touch."""
    rows = _changed(value.next) if value.next else None
    if rows is None or value.touched is None:
        return rows
    return f"{rows}, touching about {counted(value.touched, 'value')} of {', '.join(value.anchors)}"


def _last(found: LastRefresh) -> dict[str, Cell]:
    """What was foreseen of the last refresh, and below it what happened."""
    happened = (
        _mode_text(found.mode, found.reason, found.code),
        f"{found.touched:,} touched values" if found.touched is not None else None,
        formats.change_counts(found.rows),
        f"{found.seconds:g} s",
    )
    return {
        "last refresh": f"{formats.time(found.at)}, {found.run_id}",
        "  foreseen": _foreseen(found.foreseen) if found.foreseen else "not known",
        "  happened": "; ".join(filter(None, happened)),
    }


def _foreseen(found: Foreseen) -> str:
    parts = (
        _mode_text(found.mode, found.reason, found.code),
        _changed(found),
        _reads(found),
        found.text,
    )
    return "; ".join(filter(None, parts))


def _changed(found: Foreseen) -> str | None:
    return f"about {counted(found.change_rows, 'row')} changed" if found.change_rows else None


def _mode_text(mode: str | None, reason: str | None, code: ReasonCode | None) -> str:
    return f"{mode}: {reason} [{code}]" if code else f"{mode}"


def follows_text(value: Explanation) -> str:
    """Whose changes the result follows."""
    text = _followed_text(value) + (" (by the text of the query: its inputs were not read)" if value.assumed else "")
    return f"compares everything each time; with mode auto, {text}" if value.mode is Mode.FULL else text


def _followed_text(value: Explanation) -> str:
    if value.follows is Follows.NO_INPUT and value.mode is Mode.INCREMENTAL:
        return f"no input is followed, so {REFUSED}"
    return _FOLLOWS[value.follows]


def next_text(found: Foreseen | None) -> str | None:
    """What the next refresh does, and why."""
    return _mode_text(found.mode, found.reason, found.code) if found else None


def _reads(found: Foreseen) -> str | None:
    """How much is read for the changes, beside all of the inputs."""
    if found.mode is NextMode.NOTHING:
        return None
    everything = f"{formats.size(found.input_bytes)} of inputs" if found.input_bytes is not None else None
    if found.mode is NextMode.FULL:
        return everything
    changes = ", ".join(f"{formats.size(size)} of changes of {name}" for name, size in found.change_bytes.items())
    return f"{changes}; all inputs: {formats.size(found.input_bytes)}" if found.input_bytes is not None else changes
