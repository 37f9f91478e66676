"""What a refresh is foreseen to take either way, and where mode AUTO therefore computes everything.

It is decided twice: by the sizes of the changes in the logs, before anything is read; and by the values that the
changes touch, before their rows are computed. The estimates start from the last refreshes of the definition, each
carried over to the sizes of now; of these the lower median counts, as a server that has just started is slow. They say
little before both ways were measured: until then simple rules decide, which hold afterwards too.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because
from airflow_refresh_provider.core.run.measured import ChangesSeconds, Measured, WholeSeconds

MOST_TOUCHED = 0.2
"""Mode AUTO follows changes that touch up to this share of the rows of the target. They lie in most files of the inputs
by then, so that reading only these saves nothing."""
COUNTED_FROM = 0.02
"""Where touched values may have more than this share of the target's rows, the rows are counted. Less costs little."""
ENOUGH_RUNS = 2
"""How many refreshes must have followed changes before their seconds decide. The first one compiles on the way."""
DEARER_BY = 1.1
AT_LEAST_SECONDS = 1.0
"""Everything is computed where that saves more than both of these: less is within what times vary by."""
TRY_AGAIN_AFTER = 20
TRY_AGAIN_UP_TO = 2.0
"""After so many full refreshes changes are looked for again, to be measured, if following them is foreseen to take at
most so many times as long."""
FIXED_SECONDS = 3.0
"""What following changes takes at least, before it has been measured."""
BYTES_PER_SECOND = 20e6
"""How fast inputs are read, where no refresh of the definition says it."""
_LEAST_FULL_SECONDS = 2.0
"""Of computing everything, so much does not grow with the inputs."""
_LEAST_SECONDS = 1.0
"""Following changes takes at least this, or what it took."""
_READS_OF_CHANGES = 2
"""A byte of changes costs as much as so many bytes of inputs: touched values are found and then looked up."""


@dataclass(frozen=True)
class CostFacts:
    """The facts of a decision: bytes to read for the changes and of all inputs, None where that is not known.

    `share` of the target's rows is touched by the changes, None before that is known.
    """

    measured: Measured
    change_bytes: int | None
    input_bytes: int | None
    share: float | None = None


def estimates(facts: CostFacts, *, followed: bool = True) -> Estimates:
    """What a refresh is foreseen to take. `followed`: its changes can be."""
    full = _full_seconds(facts)
    if full is None:
        return Estimates()
    rest = _rest(facts.measured)
    changes = _changes_seconds(facts, full) if followed else None
    return Estimates(
        incremental_seconds=round(rest + changes, 1) if changes is not None else None,
        full_seconds=round(rest + full, 1),
    )


def full_is_cheaper(mode: Mode, facts: CostFacts) -> Reason | None:
    """Why mode AUTO computes everything; None where it follows the changes.

    Once touched values are known, finding them has been paid for: only what is left counts.
    """
    if mode is not Mode.AUTO or tried_again(facts):
        return None
    return _turned_before(facts) or _dearer(facts)


def tried_again(facts: CostFacts) -> bool:
    """Whether changes are looked for although that has cost more: what is known of it is old."""
    if facts.measured.since_tried < TRY_AGAIN_AFTER:
        return False
    known = estimates(facts)
    if known.incremental_seconds is None or known.full_seconds is None:
        return True
    return known.incremental_seconds <= TRY_AGAIN_UP_TO * known.full_seconds


def _turned_before(facts: CostFacts) -> Reason | None:
    """Why touched values are not looked for: as many changes, or fewer, have touched too much each time."""
    turned = facts.measured.turned
    if facts.share is not None or len(turned) < ENOUGH_RUNS or (facts.change_bytes or 0) < min(turned):
        return None
    text = f"the changes of the last {len(turned)} refreshes were no larger, and touched too many rows"
    return because(ReasonCode.TOO_MANY_TOUCHED, text)


def _dearer(facts: CostFacts) -> Reason | None:
    """Why following the changes costs more than computing everything; None where it does not, or that is not known."""
    full, changes = _full_seconds(facts), _left_seconds(facts)
    if full is None or changes is None or not facts.measured.full:
        return None
    rest = _rest(facts.measured)
    if changes - full <= AT_LEAST_SECONDS or rest + changes <= DEARER_BY * (rest + full):
        return None
    text = f"computing everything would take about {rest + full:,.1f} s, following the changes {rest + changes:,.1f} s"
    return because(ReasonCode.FULL_CHEAPER, text)


def share_at_most(touched: int, rows_per_value: float, target_rows: int) -> float:
    """The share of the target's rows that values touch, if it has rows of all of them."""
    return min(1.0, touched * rows_per_value / max(1, target_rows))


def share_found(at_most: float, found: float, change_bytes: int | None, input_bytes: int | None) -> float:
    """The share that is touched, by the share of the target's rows that were found to have touched values.

    A query that leaves most rows out has few of the values in its result; these are a sample of all values. Of values
    that are new to it, the size of the changes says how many there can be.
    """
    changed = at_most if change_bytes is None or not input_bytes else change_bytes / input_bytes
    return min(at_most, max(found, changed))


def too_many_touched(
    mode: Mode, touched: int, share: float | None, target_rows: int, anchors: tuple[str, ...]
) -> Reason | None:
    """Why mode AUTO computes everything, whatever was measured; None where it follows the changes."""
    if mode is not Mode.AUTO or share is None or share <= MOST_TOUCHED:
        return None
    values = f"{touched:,} values of {', '.join(anchors)}"
    text = f"the changes touch {values}, about {round(share * target_rows):,} of {target_rows:,} rows of the target"
    return because(ReasonCode.TOO_MANY_TOUCHED, text)


def _rest(measured: Measured) -> float:
    """What is the same either way."""
    return median_low(measured.rest) if measured.rest else 0.0


def _full_seconds(facts: CostFacts) -> float | None:
    """Computing everything, by the refreshes that did; else by the first load; None where there is neither."""
    known = facts.measured.full or ((facts.measured.first,) if facts.measured.first else ())
    return median_low(_grown(one, facts.input_bytes) for one in known) if known else None


def _grown(one: WholeSeconds, bytes: int | None) -> float:
    """The seconds of a full load, for inputs of another size."""
    if not bytes or not one.input_bytes:
        return one.seconds
    fixed = min(one.seconds, _LEAST_FULL_SECONDS)
    return fixed + (one.seconds - fixed) * bytes / one.input_bytes


def _changes_seconds(facts: CostFacts, full: float) -> float:
    """Following the changes, by the refreshes that did; else by the bytes that are to be read for it."""
    known = facts.measured.incremental
    if not known:
        return FIXED_SECONDS + _READS_OF_CHANGES * (facts.change_bytes or 0) / _rate(facts.measured)
    return median_low(_finding(one, facts) + _following(one, facts, full) for one in known)


def _left_seconds(facts: CostFacts) -> float | None:
    """What is still to be done to follow the changes; None where too little was measured."""
    full, known = _full_seconds(facts), facts.measured.incremental
    if facts.share is not None:
        known = tuple(one for one in known if one.share is not None)
    if full is None or len(known) < ENOUGH_RUNS:
        return None
    if facts.share is None:
        return _changes_seconds(facts, full)
    return median_low(_following(one, facts, full) for one in known)


def _finding(one: ChangesSeconds, facts: CostFacts) -> float:
    """The seconds in which the changes were found, for changes of another size."""
    if facts.change_bytes is None or one.change_bytes is None:
        return one.finding
    more = _READS_OF_CHANGES * (facts.change_bytes - one.change_bytes) / _rate(facts.measured)
    return max(one.finding + more, min(one.finding, _LEAST_SECONDS))


def _following(one: ChangesSeconds, facts: CostFacts, full: float) -> float:
    """The seconds in which they were followed, for another share of the target.

    They grow with it up to those of computing everything, and reach these where MOST_TOUCHED is touched.
    """
    if facts.share is None or one.share is None:
        return one.following
    more = full * (min(1.0, facts.share / MOST_TOUCHED) - min(1.0, one.share / MOST_TOUCHED))
    return max(one.following + more, min(one.following, _LEAST_SECONDS))


def _rate(measured: Measured) -> float:
    """Bytes a second of computing everything, fixed costs included: slower than inputs are read."""
    known = measured.full or ((measured.first,) if measured.first else ())
    rates = [one.input_bytes / one.seconds for one in known if one.input_bytes and one.seconds > 0]
    return median_low(rates) if rates else BYTES_PER_SECOND
