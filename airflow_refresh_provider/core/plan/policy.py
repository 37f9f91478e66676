"""Checks of the data of a refresh: keys that do not identify rows, and more deletes than allowed."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import Failed, Refused

KEY_ERRORS = frozenset({"null_key", "duplicate_key"})
"""Errors in the keys of the query's result."""
UNRESUMABLE_ERRORS = frozenset(
    {
        "input_missing",
        "input_unreadable",
        "bad_value",
        "constraint_violated",
        "partition_value_too_long",
        "staging_lost",
        "target_changed",
        "target_refused",
        "target_unreadable",
    }
)
"""Errors after which a frozen run can never be completed: its inputs, its target or what it staged have changed."""
ENVIRONMENT_ERRORS = frozenset({"disk_full", "storage_denied"})
"""Errors of the environment: once it is fixed, the run is resumed."""
TARGET_ERRORS = frozenset({"duplicate_target_key", "null_target_key", "misplaced_target_rows"})
"""Errors in the rows of the target, which no refresh has published."""


def check_keys(
    rows_with_null: int,
    duplicates: int,
    null_examples: tuple[str, ...],
    examples: tuple[str, ...],
    left: str = "The target was not changed.",
) -> None:
    """Refuse a result whose keys are NULL or not unique. Raises Failed with counts and examples."""
    if rows_with_null:
        raise Failed(
            "null_key",
            f"the query's result has {counted(rows_with_null, 'row')} with NULL in the key{_such_as(null_examples)}",
            left=left,
            next="Filter such rows out in the query, or choose keys that are never NULL.",
        ).showing(*null_examples)
    if duplicates:
        raise Failed(
            "duplicate_key",
            f"the query's result has more than one row for {counted(duplicates, 'key')}{_such_as(examples)}",
            left=left,
            next="Make the keys unique in the query, add key columns, or set on_duplicate: latest with latest_by.",
        ).showing(*examples)


def with_foreign_writes(error: Failed, location: str, published: int, versions: Sequence[int]) -> Failed:
    """The error with the versions that other writers have committed, and with RESTORE as another fix."""
    return Failed(
        error.code,
        f"{error.message}; another writer has written the target since version {published} was published: "
        f"{version_range(versions)}",
        left=error.left,
        next=f"{error.next} Or undo all commits of other writers: "
        f"`RESTORE TABLE delta.`{location}` TO VERSION AS OF {published}` in Spark.",
    ).showing(*error.shown_values)


def version_range(versions: Sequence[int]) -> str:
    """Versions of a table as text."""
    return f"version {versions[0]}" if len(versions) == 1 else f"versions {versions[0]} to {versions[-1]}"


def check_deletes(deleted: int, target_rows: int, allowed: float, *, force: bool) -> None:
    """Refuse a change set that deletes too much of a target that has rows. Raises Refused."""
    if force or not target_rows or deleted <= allowed * target_rows:
        return
    raise Refused(
        "mass_delete",
        f"the refresh would delete {deleted} of {target_rows} rows ({deleted / target_rows:.0%}), "
        f"more than max_delete_ratio {allowed:g} allows",
        left="The target was not changed.",
        next="Check the inputs. If the deletes are meant, run again with `force` or raise max_delete_ratio.",
    )


def check_strict(reason: Reason, *, strict: bool, left: str = "The target was not changed.") -> None:
    """Refuse to read everything where only an incremental refresh was asked for. Raises Refused.

    A verification is no doubt.
    """
    if strict and reason.code is not ReasonCode.VERIFICATION:
        raise Refused(
            "full_refresh_needed",
            f"an incremental refresh is not possible now: {reason} [{reason.code}]",
            left=left,
            next="Run without `strict`: it reads everything this time, and later refreshes are incremental again "
            "where their inputs are followed.",
        )


def _such_as(examples: tuple[str, ...]) -> str:
    return f", such as {'; '.join(examples)}" if examples else ""
