"""The answer to an error of Spark: what failed and who is to blame, how the data was left, what to do next."""

from __future__ import annotations

from collections.abc import Callable

from airflow_refresh_provider.core.faults import of_environment, of_query, of_tables
from airflow_refresh_provider.core.faults.case import Case
from airflow_refresh_provider.core.faults.fault import Doing, Fault
from airflow_refresh_provider.core.faults.kinds import FaultKind, kind_of
from airflow_refresh_provider.errors import RefreshError

ANSWERS: dict[FaultKind, Callable[[Case], RefreshError]] = {
    FaultKind.PARSE: of_query.refused,
    FaultKind.ANALYSIS: of_query.refused,
    FaultKind.BAD_VALUE: of_query.bad_value,
    FaultKind.MISSING: of_tables.missing,
    FaultKind.UNREADABLE: of_tables.unreadable,
    FaultKind.UNSUPPORTED_TABLE: of_tables.unsupported_table,
    FaultKind.MIXED_FOLDERS: of_tables.mixed_folders,
    FaultKind.FILE_NAME: of_tables.file_name,
    FaultKind.CONSTRAINT: of_tables.violated_constraint,
    FaultKind.APPEND_ONLY: of_tables.append_only,
    FaultKind.LONG_PARTITION: of_tables.long_partition,
    FaultKind.CONCURRENCY: of_environment.concurrency,
    FaultKind.NO_DELTA: of_environment.no_delta,
    FaultKind.NO_FILE_SYSTEM: of_environment.no_file_system,
    FaultKind.TLS: of_environment.tls,
    FaultKind.SPARK_DENIED: of_environment.spark_denied,
    FaultKind.UNREACHABLE: of_environment.unreachable,
    FaultKind.SESSION_GONE: of_environment.session_gone,
    FaultKind.CANCELLED: of_environment.cancelled,
    FaultKind.OUT_OF_DISK: of_environment.out_of_disk,
    FaultKind.STORAGE_DENIED: of_environment.storage_denied,
    FaultKind.NO_FOLDER: of_environment.no_folder,
    FaultKind.STORAGE_UNREACHABLE: of_environment.storage_unreachable,
    FaultKind.STORAGE_TLS: of_environment.storage_tls,
    FaultKind.OUT_OF_MEMORY: of_environment.out_of_memory,
    FaultKind.NO_MESSAGE: of_environment.no_message,
    FaultKind.OTHER: of_environment.other,
}
"""The function that answers each kind."""


def explained(fault: Fault, doing: Doing) -> RefreshError:
    """The error for a user, in three parts."""
    return ANSWERS[kind_of(fault)](Case(fault, doing))
