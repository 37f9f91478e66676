"""Why a refresh reads only changes, or everything: a code that stays the same, and a sentence."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.text.stored import Stored


class ReasonCode(StrEnum):
    """The codes. Their meanings are in `MEANINGS`."""

    NOTHING_CHANGED = "nothing_changed"
    CHANGES = "changes"
    FIRST_REFRESH = "first_refresh"
    DEFINITION_CHANGED = "definition_changed"
    CLOCK = "clock"
    FULL_REQUESTED = "full_requested"
    MODE_FULL = "mode_full"
    TARGET_CHANGED = "target_changed"
    NOT_FOLLOWED = "not_followed"
    INPUT_REPLACED = "input_replaced"
    VARIABLE_CHANGED = "variable_changed"
    HISTORY_LOST = "history_lost"
    COLUMNS_CHANGED = "columns_changed"
    CHANGES_UNKNOWN = "changes_unknown"
    CHANGES_EXPIRED = "changes_expired"
    CHANGES_LARGER = "changes_larger"
    CHANGES_UNREADABLE = "changes_unreadable"
    TOO_MANY_TOUCHED = "too_many_touched"
    FULL_CHEAPER = "full_cheaper"
    DOUBTFUL_KEYS = "doubtful_keys"
    TARGET_ROWS_UNKNOWN = "target_rows_unknown"
    OTHER_COLUMNS = "other_columns"
    VERIFICATION = "verification"
    VERIFICATION_FAILED = "verification_failed"


MEANINGS = {
    ReasonCode.NOTHING_CHANGED: "no input has changed a row since the last refresh",
    ReasonCode.CHANGES: "only the changes of the inputs were read",
    ReasonCode.FIRST_REFRESH: "there was no refresh before",
    ReasonCode.DEFINITION_CHANGED: "the definition has changed since the last refresh",
    ReasonCode.CLOCK: (
        "the query reads the clock outside of temporal filters, or it is not known what the last refresh has read of it"
    ),
    ReasonCode.FULL_REQUESTED: "a comparison of everything was requested, by `--mode full` or `--force`",
    ReasonCode.MODE_FULL: "the mode is full",
    ReasonCode.TARGET_CHANGED: "another writer or an abandoned run has changed the target, or it was replaced",
    ReasonCode.NOT_FOLLOWED: "the query does not follow the changes of an input that has changed",
    ReasonCode.INPUT_REPLACED: "an input is another table than at the last refresh",
    ReasonCode.VARIABLE_CHANGED: "a variable in the path of an input has another value",
    ReasonCode.HISTORY_LOST: "the log of an input no longer has every version since the last refresh, or files that "
    "were read are gone",
    ReasonCode.COLUMNS_CHANGED: "the columns of an input have changed",
    ReasonCode.CHANGES_UNKNOWN: "the log of an input does not say which rows have changed",
    ReasonCode.CHANGES_EXPIRED: "the changes of an input are no longer kept",
    ReasonCode.CHANGES_LARGER: "more is to be read for the changes of an input than it has in all (mode auto)",
    ReasonCode.CHANGES_UNREADABLE: "Spark could not read the changes of an input",
    ReasonCode.TOO_MANY_TOUCHED: "the changes touch so many rows that reading everything costs less (mode auto)",
    ReasonCode.FULL_CHEAPER: "by the refreshes before, reading everything takes less time (mode auto)",
    ReasonCode.DOUBTFUL_KEYS: "after the changes a key would be NULL or occur twice, or only all rows of a key say "
    "which is the newest",
    ReasonCode.TARGET_ROWS_UNKNOWN: "the log of the target does not say how many rows it has",
    ReasonCode.OTHER_COLUMNS: "Spark gives other columns than the analysis of the query has found",
    ReasonCode.VERIFICATION: "an incremental refresh was verified by a whole comparison, which was applied",
    ReasonCode.VERIFICATION_FAILED: "a verification has found a difference: incremental refreshes of this definition "
    "are off until it, or the analysis of queries, is changed",
}
"""What each code means."""


AS_PLANNED = frozenset(
    {
        *(ReasonCode.FIRST_REFRESH, ReasonCode.FULL_REQUESTED, ReasonCode.MODE_FULL, ReasonCode.VERIFICATION),
        *(ReasonCode.NOTHING_CHANGED, ReasonCode.CHANGES),
    }
)
"""With any other code everything is read because changes cannot be followed."""


BY_COST = frozenset({ReasonCode.CHANGES_LARGER, ReasonCode.TOO_MANY_TOUCHED, ReasonCode.FULL_CHEAPER})
"""With these everything is read because that costs less: mode auto alone."""


class Reason(Stored):
    """One reason: `text` names the input, the version or the construct."""

    code: ReasonCode
    text: str

    def __str__(self) -> str:
        return self.text


def because(code: ReasonCode, text: str) -> Reason:
    """A reason."""
    return Reason(code=code, text=text)
