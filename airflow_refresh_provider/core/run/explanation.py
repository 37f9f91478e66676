"""What a definition follows, and what its next refresh would do."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, row_by_row
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.explained import ExplainedInput, explained
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.foreseen import Foreseen, NextMode
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.results import ErrorReport, Rows
from airflow_refresh_provider.core.text.stored import Stored

_LATEST = "on_duplicate: latest needs rows to be found by their keys"
_NEWEST = "row by row while inputs only gain rows, else by the keys of changed rows (on_duplicate: latest)"


class Follows(StrEnum):
    """Whose changes the result follows without being computed as a whole."""

    EVERY_INPUT = "every_input"
    SOME_INPUTS = "some_inputs"
    NO_INPUT = "no_input"


class LastRefresh(Stored):
    """The newest published refresh: what was foreseen of it when it began, beside what happened.

    `foreseen` is null where that is not known. `seconds` is how long its processes worked, which is what is foreseen;
    `touched` as in a result.
    """

    run_id: str
    at: datetime
    foreseen: Foreseen | None = None
    mode: str | None = None
    code: ReasonCode | None = None
    reason: str | None = None
    rows: Rows = Rows()
    touched: int | None = None
    seconds: float = 0.0


class Explanation(Stored):
    """A definition: whose changes it follows, and how. `anchors` are the columns of the result by which affected rows
    are found; a row-wise query has none.

    `last` is null before the first refresh.

    `advice`: small changes with which it would follow more. `assumed`: the inputs were not read, so columns are those
    that the query names, and those that it compares are taken to have one type. `strict`: every input has to be
    followed. `next` is null where the definition is not registered; `error` is why the next refresh cannot be foreseen.
    `touched`: about how many values of the anchors it touches, null where that is not known. `unfinished_run` is
    resumed or ends before what is foreseen here. `changed_upstream`: the definitions that make its inputs, directly or
    not, and have changes to apply themselves; null where these were not looked at.
    """

    name: str
    mode: Mode
    follows: Follows
    row_wise: bool
    anchors: tuple[str, ...] = ()
    inputs: tuple[ExplainedInput, ...]
    advice: tuple[Advice, ...] = ()
    assumed: bool = False
    next: Foreseen | None = None
    touched: int | None = None
    unfinished_run: str | None = None
    changed_upstream: tuple[str, ...] | None = None
    last: LastRefresh | None = None
    error: ErrorReport | None = None
    strict: bool = False

    @property
    def broken(self) -> bool:
        """Whether it has to follow every input, and does not, or that is not known, or its query cannot be computed."""
        wrong = any(one.kind is AdviceKind.CORRECT_COLUMN for one in self.advice)
        return self.strict and (self.assumed or wrong or self.follows is not Follows.EVERY_INPUT)


def touched_by(coming: Foreseen, last: LastRefresh | None) -> int | None:
    """About how many values of the anchors the next refresh touches: as many for each changed row as the last one.

    None where it, or the last one, does not follow changes by touched values.
    """
    changed = coming.change_rows if coming.mode is NextMode.INCREMENTAL else None
    before = last.foreseen.change_rows if last and last.foreseen else None
    if changed is None or not before or last is None or last.touched is None:
        return None
    return round(last.touched * changed / before)


def explanation(definition: Definition, facts: QueryFacts, maintenance: Maintenance | None) -> Explanation:
    """The static part. `maintenance` is that of a query whose changes are not followed row by row."""
    found = _explanation(definition, facts, _inputs(definition, maintenance))
    return found.model_copy(update={"anchors": maintenance.anchors}) if maintenance else found


def explanation_by_text(definition: Definition, facts: QueryFacts, *, advises: bool = True) -> Explanation:
    """The static part, without the inputs: as far as the text of the query says. Advice takes most of the time."""
    if row_by_row(facts):
        return explanation(definition, facts, None)
    # The SQL parser takes a third of a second to import.
    from airflow_refresh_provider.core.maintain.by_text import analysed

    found, advised = analysed(definition, advises=advises)
    return explanation(definition, facts, found).model_copy(update={"advice": advised, "assumed": True})


def _explanation(definition: Definition, facts: QueryFacts, inputs: tuple[ExplainedInput, ...]) -> Explanation:
    return Explanation(
        name=definition.name,
        mode=definition.mode,
        follows=_follows(inputs),
        row_wise=row_by_row(facts),
        inputs=inputs,
    )


def _inputs(definition: Definition, maintenance: Maintenance | None) -> tuple[ExplainedInput, ...]:
    names = tuple(definition.inputs)
    if maintenance is None:
        by = "row by row" if definition.latest_by is None else _NEWEST
        return tuple(ExplainedInput(name=name, by=by) for name in names)
    found = explained(maintenance, names)
    keys = {key.lower() for key in definition.keys}
    if definition.latest_by is not None and not set(maintenance.anchors) <= keys:
        return tuple(ExplainedInput(name=one.name, reason=one.reason or _LATEST) for one in found)
    return found


def _follows(inputs: tuple[ExplainedInput, ...]) -> Follows:
    followed = [one.followed for one in inputs]
    return Follows.EVERY_INPUT if all(followed) else Follows.SOME_INPUTS if any(followed) else Follows.NO_INPUT
