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
    comparison of them has found, and `changed_per_byte`: how many for each byte of changes; None before one. `ways`:
    whether results were verified that were added up (true), and others (false).
    """

    engine: str
    analysis: str
    ways: tuple[bool, ...] = (False,)
    refreshes: int = 0
    rows_per_value: float = 1.0
    changed_share: float | None = None
    changed_per_byte: float | None = None
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


def trust_after(trust: Trust | None, frozen: Frozen, change_bytes: int | None = None) -> Trust | None:
    """What is known after a run with this plan is published, which has read so many bytes of changes."""
    before = trust.model_dump(include={"rows_per_value", "changed_share", "changed_per_byte"}) if trust else {}
    learned = before | _learned(frozen, change_bytes)
    if found := frozen.verification:
        ways = trust.ways if trust and _same(trust, found.engine) else ()
        return Trust(
            engine=found.engine,
            analysis=ANALYSIS,
            ways=tuple(sorted({*ways, found.added_up})),
            difference=difference_text(found),
            **learned,
        )
    if trust and frozen.touched is not None and frozen.fell_back is None:
        return trust.model_copy(update={"refreshes": trust.refreshes + 1, **learned})
    return trust


def _learned(frozen: Frozen, change_bytes: int | None) -> dict[str, float]:
    """What a comparison of touched rows has found out; nothing where there was none."""
    if not (frozen.touched and frozen.touched_rows) or frozen.replaced_partitions:
        return {}
    changed = frozen.counts().total
    by_bytes = {"changed_per_byte": changed / change_bytes} if change_bytes else {}
    share = min(1.0, changed / frozen.touched_rows)
    return {"rows_per_value": frozen.touched_rows / frozen.touched, "changed_share": share, **by_bytes}


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
