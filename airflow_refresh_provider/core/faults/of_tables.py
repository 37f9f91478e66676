"""Answers to errors of inputs, targets and staged changes: their files, constraints, columns and properties."""

from __future__ import annotations

from airflow_refresh_provider.core.faults.blame import Place, file_in, name_with_colon, too_long_partition
from airflow_refresh_provider.core.faults.case import Case
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused


def missing(case: Case) -> RefreshError:
    """A table, a version or a file is not there."""
    match case.blamed.place:
        case Place.TARGET if file_in(case.fault).endswith(".parquet"):
            return _damaged_target(case)
        case Place.TARGET if case.fault.error_class == "DELTA_MISSING_DELTA_TABLE":
            return Failed(
                "not_a_table",
                f"something that is no Delta table lies where {case.table} should be: {case.reason}",
                left=case.left,
                next="Move it away, or name another target, then run again.",
            )
        case Place.TARGET:
            return Failed(
                "table_missing",
                f"{case.table} is gone: {case.reason}",
                left=case.left,
                next="Restore the table if it was removed by mistake, then run again; a refresh makes a new one.",
            )
        case Place.STAGING:
            return _lost_staging(case)
        case _:
            return Failed(
                "input_missing",
                f"{case.table}: what was pinned of it is missing: {case.reason}",
                left=case.left,
                next="Restore it or correct its location, then run again.",
            )


def unreadable(case: Case) -> RefreshError:
    """A table or a file is there, and cannot be read."""
    match case.blamed.place:
        case Place.TARGET:
            return _damaged_target(case)
        case Place.STAGING:
            return _lost_staging(case)
        case _:
            what, next_ = _unreadable(case.fault.error_class, case.reason)
            message = f"{case.table}: {what}: {case.reason}"
            return Failed("input_unreadable", message, left=case.left, next=f"{next_}, then run again.")


_UNREADABLE = (
    (
        "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        "its files have one column in different types",
        "Write that file again with the type of the others, or declare the files as separate inputs",
    ),
    (
        "PARQUET_TYPE_",
        "it has a column of a parquet type that Spark does not read",
        "Write the file again with another type, such as timestamps in microseconds (pandas: "
        "`to_parquet(..., coerce_timestamps='us')`)",
    ),
    ("COLUMN_ALREADY_EXISTS", "names of its columns differ in case only", "Rename one of the columns in the files"),
    (
        "FAILED_EXECUTE_UDF",
        "its log names a file by a path that is no URI, as other programs than Spark may write it",
        "Write the log again with Spark, such as with CONVERT TO DELTA after a folder was converted otherwise",
    ),
    ("UNABLE_TO_INFER_SCHEMA", "it has no file with columns", "Put files there or correct its location"),
)


def _unreadable(error_class: str, reason: str) -> tuple[str, str]:
    """What is wrong with an input, and what helps."""
    if "Checksum error" in reason:
        return (
            "a file of it is not what its checksum file (.crc) says",
            "Restore the file; if it was replaced on purpose, remove the .crc file beside it",
        )
    for prefix, what, next_ in _UNREADABLE:
        if error_class.startswith(prefix):
            return what, next_
    return "it is damaged or has another format than declared", "Restore the file or correct the format"


def file_name(case: Case) -> RefreshError:
    """A name with a colon, which Hadoop takes for the end of a scheme."""
    return Failed(
        "input_unreadable",
        f"{case.table}: the name of a file has a colon, which Spark cannot read: {name_with_colon(case.fault)}",
        left=case.left,
        next="Rename the file, then run again.",
    )


def mixed_folders(case: Case) -> RefreshError:
    """Subfolders that do not stand for the same columns."""
    return Invalid(
        "input_mixed",
        f"{case.table}: its subfolders do not stand for the same columns: {case.reason}",
        left=case.left,
        next="Move the files so that all subfolders name the same columns, or declare separate inputs.",
    )


def unsupported_table(case: Case) -> RefreshError:
    """A feature of a Delta table that the server does not know."""
    return Failed(
        "table_unsupported",
        f"{case.table}: it has a feature that Spark's Delta does not know: {case.reason}",
        left=case.left,
        next="Drop the feature from the table (ALTER TABLE ... DROP FEATURE), or use a newer Delta in Spark.",
    )


def violated_constraint(case: Case) -> RefreshError:
    """A row of the result that the target does not accept."""
    return Failed(
        "constraint_violated",
        f"{case.target} does not accept a row of the query's result: {case.reason}",
        left=case.left,
        next="Correct the data, filter such rows out in the query, or change the constraint of the target (ALTER TABLE "
        "... DROP CONSTRAINT, ALTER COLUMN ... DROP NOT NULL), then run again.",
    ).showing(*case.values)


def append_only(case: Case) -> RefreshError:
    """The target has become append-only while it was being refreshed."""
    return Refused(
        "append_only",
        f"{case.target} is append-only: no row of it may be updated or deleted",
        left=case.left,
        next="Unset the property `delta.appendOnly` of the table (ALTER TABLE ... UNSET TBLPROPERTIES), or name "
        "another target.",
    )


def long_partition(case: Case) -> RefreshError:
    """A value that cannot be the name of a folder."""
    column, size = too_long_partition(case.fault) or ("", 0)
    return Failed(
        "partition_value_too_long",
        f"a value of the partition column {column} has {size} bytes: the folder of a partition is named by its column "
        f"and value, and a name may have 255 bytes",
        left=case.left,
        next=f"Partition the target by a column with short values, not by {column}, or shorten them in the query.",
    )


def refused_target(case: Case) -> RefreshError:
    """Spark or Delta refuses what the target is to be or to take."""
    return Invalid(
        "target_refused",
        f"Spark refuses {case.target}: {case.reason}",
        left=case.left,
        next="Correct what the definition says of the target (partition_by, cluster_by, columns of the query), or "
        "change the target itself.",
    )


def _damaged_target(case: Case) -> RefreshError:
    return Failed(
        "target_unreadable",
        f"{case.table} has lost a file, or it is damaged: {case.reason}",
        left=case.left,
        next="Restore the file, or take the table back to a version that is whole (RESTORE TABLE ... TO VERSION AS OF "
        "...), then run again.",
    )


def _lost_staging(case: Case) -> RefreshError:
    return Failed(
        "staging_lost",
        f"staged changes of this run were removed or damaged: {case.reason}",
        left=case.left,
        next="Run again: this run is abandoned, and a new one compares everything.",
    )
