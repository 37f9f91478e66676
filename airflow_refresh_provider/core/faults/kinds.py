"""The kind of an error, from its facts alone.

The error class is the most reliable part, so the kinds of classes come first. Texts are only searched in causes that
have no class, or that wrap others: in all others, the text may be a user's.
"""

from __future__ import annotations

import re
from enum import StrEnum

from airflow_refresh_provider.core.faults.blame import too_long_partition
from airflow_refresh_provider.core.faults.fault import WRAPPERS, Fault


class FaultKind(StrEnum):
    """The kinds of errors in Spark that users and callers have to distinguish."""

    PARSE = "parse"
    ANALYSIS = "analysis"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    UNSUPPORTED_TABLE = "unsupported_table"
    MIXED_FOLDERS = "mixed_folders"
    FILE_NAME = "file_name"
    BAD_VALUE = "bad_value"
    CONSTRAINT = "constraint"
    APPEND_ONLY = "append_only"
    LONG_PARTITION = "long_partition"
    CONCURRENCY = "concurrency"
    NO_DELTA = "no_delta"
    NO_FILE_SYSTEM = "no_file_system"
    TLS = "tls"
    SPARK_DENIED = "spark_denied"
    UNREACHABLE = "unreachable"
    SESSION_GONE = "session_gone"
    CANCELLED = "cancelled"
    OUT_OF_DISK = "out_of_disk"
    STORAGE_DENIED = "storage_denied"
    NO_FOLDER = "no_folder"
    STORAGE_UNREACHABLE = "storage_unreachable"
    STORAGE_TLS = "storage_tls"
    OUT_OF_MEMORY = "out_of_memory"
    NO_MESSAGE = "no_message"
    OTHER = "other"


_BY_CLASS = (
    # The illegal state: a session was released while one of its statements could not be interrupted any more.
    (
        FaultKind.SESSION_GONE,
        ("INVALID_HANDLE", "NO_ACTIVE_SESSION", "RESPONSE_ALREADY_RECEIVED", "SPARK_CONNECT_ILLEGAL_STATE"),
    ),
    (FaultKind.CANCELLED, ("OPERATION_CANCELED", "SPARK_JOB_CANCELLED")),
    (FaultKind.CONCURRENCY, ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")),
    (FaultKind.NO_DELTA, ("DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG",)),
    (
        FaultKind.CONSTRAINT,
        (
            "DELTA_VIOLATE_CONSTRAINT",
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
            "DELTA_NESTED_NOT_NULL_CONSTRAINT",
            "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
            "EXCEED_LIMIT_LENGTH",
            "NOT_NULL_ASSERT_VIOLATION",
        ),
    ),
    (FaultKind.APPEND_ONLY, ("DELTA_CANNOT_MODIFY_APPEND_ONLY",)),
    (
        FaultKind.UNSUPPORTED_TABLE,
        ("DELTA_UNSUPPORTED_FEATURES_FOR_", "DELTA_INVALID_PROTOCOL_VERSION", "DELTA_UNSUPPORTED_COLUMN_MAPPING"),
    ),
    (FaultKind.MIXED_FOLDERS, ("CONFLICTING_PARTITION_COLUMN_NAMES", "CONFLICTING_DIRECTORY_STRUCTURES")),
    (
        FaultKind.MISSING,
        (
            "PATH_NOT_FOUND",
            "FAILED_READ_FILE.FILE_NOT_EXIST",
            "DELTA_TABLE_NOT_FOUND",
            "DELTA_PATH_DOES_NOT_EXIST",
            "DELTA_VERSION_NOT_FOUND",
            "DELTA_MISSING_",
            "DELTA_FILE_NOT_FOUND",
            "DELTA_LOG_FILE_NOT_FOUND",
            "DELTA_TRUNCATED_TRANSACTION_LOG",
            "DELTA_VERSIONS_NOT_CONTIGUOUS",
        ),
    ),
    (
        FaultKind.UNREADABLE,
        (
            "FAILED_READ_FILE",
            "UNABLE_TO_INFER_SCHEMA",
            "PARQUET_TYPE_",
            "PARQUET_CONVERSION_FAILURE",
            "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY",
        ),
    ),
    (
        FaultKind.OUT_OF_MEMORY,
        (
            "UNABLE_TO_ACQUIRE_MEMORY",
            "AGGREGATE_OUT_OF_MEMORY",
            "POINTER_ARRAY_OUT_OF_MEMORY",
            "SPILL_OUT_OF_MEMORY",
            "_LEGACY_ERROR_TEMP_2250",  # no room for a table that is broadcast
        ),
    ),
    (FaultKind.NO_FOLDER, ("DELTA_CANNOT_CREATE_LOG_PATH",)),
    (FaultKind.PARSE, ("PARSE_", "INVALID_SQL_SYNTAX")),
    (
        FaultKind.BAD_VALUE,
        (
            "USER_RAISED_EXCEPTION",
            "CAST_",
            "DIVIDE_BY_ZERO",
            "ARITHMETIC_OVERFLOW",
            "INVALID_ARRAY_INDEX",
            "CANNOT_PARSE_",
            "NUMERIC_VALUE_OUT_OF_RANGE",
            "SCALAR_SUBQUERY_TOO_MANY_ROWS",
            "INVALID_PARAMETER_VALUE",
            "MALFORMED_RECORD_IN_PARSING",
        ),
    ),
)
_BY_TEXT = (
    (FaultKind.OUT_OF_DISK, re.compile(r"No space left on device|Disk quota exceeded")),
    (
        FaultKind.OUT_OF_MEMORY,
        re.compile(
            r"java\.lang\.OutOfMemoryError|spark\.driver\.maxResultSize|"
            r"ExecutorLostFailure[\s\S]*(?:\bcode (?:52|137)\b|memory limits)"
        ),
    ),
    (FaultKind.FILE_NAME, re.compile(r"Relative path in absolute URI")),
    (
        FaultKind.STORAGE_TLS,
        re.compile(
            r"SSLHandshake|SSL_ERROR|CERTIFICATE_VERIFY_FAILED|PKIX path|[Hh]andshake(?:r)? failed|WRONG_VERSION_NUM"
        ),
    ),
    (
        FaultKind.STORAGE_DENIED,
        re.compile(
            r"AccessControlException|AccessDenied|Permission denied|Read-only file system|InvalidAccessKeyId|"
            r"SignatureDoesNotMatch|NoAuthWithAWSException|NoAwsCredentials|ExpiredToken|\b403\b.*Forbidden"
        ),
    ),
    (FaultKind.NO_DELTA, re.compile(r"(?:ClassNotFound|NoClassDefFound|Cannot find catalog plugin).*\bdelta\b")),
    (
        FaultKind.NO_FILE_SYSTEM,
        re.compile(
            r"ClassNotFoundException: Class [\w.]+FileSystem not found|No FileSystem for scheme|No AbstractFileSystem"
        ),
    ),
    (
        FaultKind.NO_FOLDER,
        re.compile(r"Mkdirs failed|Cannot create |ParentNotDirectory|Parent path is not a directory"),
    ),
    (FaultKind.STORAGE_UNREACHABLE, re.compile(r"UnknownHostException|Connection refused|SocketTimeout|NoRouteToHost")),
    (FaultKind.MISSING, re.compile(r"java\.io\.FileNotFoundException|java\.nio\.file\.NoSuchFileException")),
    (FaultKind.UNREADABLE, re.compile(r"ChecksumException|is not a Parquet file")),
)
_CLASS_AND_TEXT = frozenset({FaultKind.MISSING, FaultKind.UNREADABLE})
"""Kinds of classes that a text below them can make more precise."""
_BY_STATUS = {
    "UNAVAILABLE": FaultKind.UNREACHABLE,
    "DEADLINE_EXCEEDED": FaultKind.UNREACHABLE,
    "CANCELLED": FaultKind.CANCELLED,
    "UNAUTHENTICATED": FaultKind.SPARK_DENIED,
    "PERMISSION_DENIED": FaultKind.SPARK_DENIED,
}
_BROKEN = re.compile(r"RST_STREAM|GOAWAY")
"""A stream that ended with its server, which gRPC calls cancelled, too."""
_NO_DELTA = {
    "DATA_SOURCE_NOT_FOUND": re.compile(r"[Ff]ailed to find (?:the )?data source: `?delta\b"),
    # A table that is named by its path: Delta's own catalog takes it for a table, whatever lies there.
    "TABLE_OR_VIEW_NOT_FOUND": re.compile(r"The table or view `delta`\.`"),
    "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY": re.compile(r"direct query on files: `?delta\b"),
}
"""By class, what Spark says where it does not know Delta."""
_PATHS_OF_A_LOG = "`CanonicalPathFunction`"
"""The function by which Delta reads the paths of a log."""
_BAD_VALUE_STATES = ("21", "22", "23")
"""SQL states of a cardinality, a value or a constraint: errors in rows, not in the statement."""


def kind_of(fault: Fault) -> FaultKind:
    """The kind of an error."""
    by_class = _by_class(fault)
    by_text = _by_text(fault)
    if by_class in _CLASS_AND_TEXT and by_text not in (None, FaultKind.MISSING):
        return by_text or by_class
    return by_class or _by_call(fault, by_text) or by_text or _by_exception(fault)


def _by_class(fault: Fault) -> FaultKind | None:
    principal = fault.principal
    no_delta = _NO_DELTA.get(principal.error_class)
    if no_delta and no_delta.search(principal.message):
        return FaultKind.NO_DELTA
    if principal.error_class == "FAILED_EXECUTE_UDF" and _PATHS_OF_A_LOG in principal.message:
        return FaultKind.UNREADABLE
    return next((kind for kind, prefixes in _BY_CLASS if principal.error_class.startswith(prefixes)), None)


def _by_text(fault: Fault) -> FaultKind | None:
    plain = [c for c in fault.chain if not c.error_class or c.error_class in WRAPPERS]
    text = "\n".join(f"{cause.type}: {cause.message}" for cause in plain)
    found = next((kind for kind, marks in _BY_TEXT if marks.search(text)), None)
    return FaultKind.LONG_PARTITION if found is FaultKind.NO_FOLDER and too_long_partition(fault) else found


def _by_call(fault: Fault, by_text: FaultKind | None) -> FaultKind | None:
    """The kind when the call failed, and not the statement."""
    found = _BY_STATUS.get(fault.status or "")
    if found is FaultKind.CANCELLED and _BROKEN.search(fault.principal.message):
        return FaultKind.UNREACHABLE
    if found is FaultKind.UNREACHABLE and by_text is FaultKind.STORAGE_TLS:
        return FaultKind.TLS  # the call itself did not come through
    if found is not None or fault.principal.error_class:
        return found
    match fault.kind:
        case "PySparkAssertionError":
            # The answer is of another session than the one called: the server was restarted.
            return FaultKind.SESSION_GONE
        case "Py4JError" | "Py4JNetworkError":
            return FaultKind.UNREACHABLE
        case _:
            return None


def _by_exception(fault: Fault) -> FaultKind:
    if not fault.principal.error_class and fault.status == "UNKNOWN":
        # Spark Connect sends no message for errors that are fatal in Java.
        return FaultKind.NO_MESSAGE
    if fault.kind == "ParseException":
        return FaultKind.PARSE
    if fault.sql_state.startswith(_BAD_VALUE_STATES):
        return FaultKind.BAD_VALUE
    return FaultKind.ANALYSIS if fault.kind == "AnalysisException" else FaultKind.OTHER
