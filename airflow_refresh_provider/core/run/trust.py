"""Trust in incremental refreshes that find their rows by touched values: when a whole comparison has to agree with one.

The first such refresh of a definition is verified, and the first one by other versions of Spark or of the analysis:
they might read the query otherwise. A verified run applies what the whole comparison has found.
"""

from __future__ import annotations

from airflow_refresh_provider.core.plan.plan import Frozen, Verification
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because
from airflow_refresh_provider.core.query.facts import ANALYSIS
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.wording import counted


class Trust(Stored):
    """The last verification of a definition, and how many incremental refreshes were made since.

    `difference`: what it did not find equal; incremental refreshes are off then. `rows_per_value`: how many rows of the
    target a touched value stood for, when there were some. `changed_share`: how many of these had changed, as the last
    comparison of them has found; None before one. `ways`: whether results were verified that were added up
    (true), and others (false).
    """

    engine: str
    analysis: str
    ways: tuple[bool, ...] = (False,)
    refreshes: int = 0
    rows_per_value: float = 1.0
    changed_share: float | None = None
    difference: str | None = None


def verification_due(trust: Trust | None, engine: str, every: int | None, *, added_up: bool = False) -> Reason | None:
    """Why the next incremental refresh is verified; None when it is trusted. `added_up`: its result is."""
    if trust is None or (added_up not in trust.ways and _same(trust, engine)):
        return because(ReasonCode.VERIFICATION, "the first incremental refresh of a definition is verified")
    if not _same(trust, engine):
        text = f"{engine} and analysis {ANALYSIS} are others than at the last verification"
        return because(ReasonCode.VERIFICATION, text)
    if every is not None and trust.refreshes + 1 >= every:
        return because(ReasonCode.VERIFICATION, f"one of {counted(every, 'incremental refresh')} is verified")
    return None


def sample_differs(values: int, differences: int) -> Reason | None:
    """Why an incremental refresh is verified after so many values of a sample were computed again; None where not."""
    if not differences:
        return None
    text = f"a sample of {counted(values, 'value')} of the anchors differed in {counted(differences, 'change')}"
    return because(ReasonCode.VERIFICATION, text)


def lost_trust(trust: Trust | None) -> Reason | None:
    """Why changes are not followed any more; None where they may be. Another analysis is tried again."""
    if trust is None or trust.difference is None or trust.analysis != ANALYSIS:
        return None
    return because(ReasonCode.VERIFICATION_FAILED, trust.difference)


def trust_after(trust: Trust | None, frozen: Frozen) -> Trust | None:
    """What is known after a run with this plan is published."""
    rows, changed = (trust.rows_per_value, trust.changed_share) if trust else (1.0, None)
    if frozen.touched and frozen.touched_rows and not frozen.replaced_partitions:
        rows = frozen.touched_rows / frozen.touched
        changed = min(1.0, frozen.counts().total / frozen.touched_rows)
    if found := frozen.verification:
        before = trust.ways if trust and _same(trust, found.engine) else ()
        return Trust(
            engine=found.engine,
            analysis=ANALYSIS,
            ways=tuple(sorted({*before, found.added_up})),
            rows_per_value=rows,
            changed_share=changed,
            difference=difference_text(found),
        )
    if trust and frozen.touched is not None and frozen.fell_back is None:
        known = {"rows_per_value": rows, "changed_share": changed}
        return trust.model_copy(update={"refreshes": trust.refreshes + 1, **known})
    return trust


def rows_are_known(trust: Trust | None) -> bool:
    """Whether a refresh says how many rows touched values stand for; one that is added up does not."""
    return trust is not None and False in trust.ways


def _same(trust: Trust, engine: str) -> bool:
    return (trust.engine, trust.analysis) == (engine, ANALYSIS)


def difference_text(found: Verification) -> str | None:
    """What a verification found; None where both agree."""
    if not found.differences:
        return None
    examples = f", such as {'; '.join(found.examples)}" if found.examples else ""
    return (
        f"an incremental refresh differed from a whole comparison in {counted(found.differences, 'change')}{examples}"
    )
