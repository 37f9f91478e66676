"""Real errors of Spark, Delta and storage by name, and what the answer to each has to say.

`tests/engine/test_spark_errors.py` provokes each one and checks its answer; with `--record-spark-errors` it also writes
the facts of each to `spark_errors.json`, from which the unit test makes all answers again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_refresh_provider.core.faults.fault import Doing, Fault
from airflow_refresh_provider.errors import RefreshError

RECORDED = Path(__file__).with_suffix(".json")
LAKE = "/lake"
"""Where all tables of the recorded errors lie; a folder of the machine when they were provoked."""

_NOISE = ("\n", "\tat ", "Exception", "SQLSTATE", "org.apache.spark", "Caused by", "ansi.enabled", "typeCheck")


@dataclass(frozen=True)
class Answer:
    """The code, what the message says of the cause and who is to blame, and what the advice says."""

    code: str
    says: tuple[str, ...]
    next: str


def _query(*says: str) -> Answer:
    return Answer("query_invalid", ("Spark refuses the query", *says), "Correct the query")


def _value(*says: str) -> Answer:
    return Answer("bad_value", ("a row cannot be computed", *says), "Correct the data")


def _input(code: str, next: str, *says: str) -> Answer:
    return Answer(code, ("the input src: ", *says), next)


def _constraint(*says: str) -> Answer:
    return Answer(
        "constraint_violated", (f"the target {LAKE}/", "does not accept a row", *says), "filter such rows out"
    )


def _refused(*says: str) -> Answer:
    return Answer("target_refused", (f"Spark refuses the target {LAKE}/", *says), "change the target itself")


EXPECTED: dict[str, Answer] = {
    "query.parse": _query("Syntax error at or near 'FROM'", "(line 2, column 6)"),
    "query.column": _query("name `nope` cannot be resolved", "in `nope` (line 2, column 3)"),
    "query.file_metadata": Answer(
        "query_invalid", ("`_metadata`.`file_name` cannot be resolved", "(line 1, column 12)"), "Leave `_metadata` out"
    ),
    "query.table": _query("table or view `nosuch` cannot be found", "(line 1, column 16)"),
    "query.function": _query("Cannot resolve routine `nofn`", "in `nofn(v)` (line 1, column 12)"),
    "query.arguments": _query("`substring` requires [2, 3] parameters", "in `substring(v)` (line 1, column 12)"),
    "query.types": _query("incompatible types", "in `v + array(1)` (line 1, column 12)"),
    "query.grouping": _query("does not include a GROUP BY clause", "(line 1, column 1)"),
    "query.ambiguous": _query("Reference `id` is ambiguous", "in `id` (line 1, column 8)"),
    "query.union": _query("same number of columns", "(line 1, column 1)"),
    "value.divide": _value("Division by zero", "the column x of the query (line 2, column 3)"),
    "value.cast": _value("'a", 'cannot be cast to "INT"', "the column x of the query (line 2, column 3)"),
    "value.overflow": _value("overflow", "the column x of the query (line 1, column 12)"),
    "value.cast_overflow": _value("0L of the type", "due to an overflow"),
    "value.index": _value("The index 2 is out of bounds", "the column x of the query (line 1, column 12)"),
    "value.raised": _value("no such row"),
    "value.date": _value("Text 'a", "could not be parsed"),
    "value.decimal": _value("cannot be represented as Decimal(4, 2)", "the column x of the query (line 1, column 12)"),
    "value.subquery": _value("More than one row returned by a subquery"),
    "value.pattern": _value("`regexp` in `rlike` is invalid", "cause: Unclosed group"),
    "value.json": _value("Malformed records", "cause: Unrecognized token 'a"),
    "value.asserted": _value("'(v < 2)' is not true"),
    "value.target_type": _value("5000000000L", 'cannot be cast to "INT"'),
    "input.no_table": _input("input_missing", "Restore it", "_delta_log does not exist"),
    "input.no_version": _input("input_missing", "Restore it", "to version 9. Available versions: [0, 0]"),
    "input.no_file": _input("input_missing", "Restore it", ".parquet. File does not exist"),
    "input.no_parquet": _input("input_missing", "Restore it", "Path does not exist", ".parquet"),
    "input.not_a_table": _input("input_missing", "correct its location", "doesn't exist"),
    "input.damaged": _input("input_unreadable", "Restore the file", "it is damaged", ".parquet; cause: can not read"),
    "input.checksum": _input("input_unreadable", "remove the .crc file", "checksum file", "cause: Checksum error"),
    "input.no_footer": _input("input_unreadable", "correct the format", "a.parquet is not a Parquet file"),
    "input.empty_file": _input("input_unreadable", "Restore the file", "length is too low: 0"),
    "input.other_types": _input(
        "input_unreadable", "with the type of the others", "b.parquet", "[qty]. Expected Spark type int, actual Parquet"
    ),
    "input.text_for_number": _input(
        "input_unreadable", "with the type of the others", "b.parquet", "Expected Spark type bigint", "BINARY"
    ),
    "input.of_pandas": _input("input_unreadable", "coerce_timestamps", "TIMESTAMP(NANOS,false)"),
    "input.colon": _input("input_unreadable", "Rename the file", "has a colon", "day 10:30.parquet"),
    "input.mixed_folders": _input("input_mixed", "Move the files", ": day", ": month"),
    "input.mixed_depths": _input("input_mixed", "Move the files", "src/other"),
    "input.no_files": _input("input_unreadable", "Put files there", "no file with columns"),
    "input.names_by_case": _input("input_unreadable", "Rename one of the columns", "column `v` already exists"),
    "input.damaged_log": _input("input_unreadable", "Restore the file", "0.json", "Malformed records", "end-of-input"),
    "input.path_in_log": _input(
        "input_unreadable", "CONVERT TO DELTA", "a path that is no URI", "p=x:y", "Illegal character in scheme name"
    ),
    "input.gap_in_log": _input("input_missing", "Restore it", "ersion"),
    "input.later_protocol": _input("table_unsupported", "DROP FEATURE", "feature"),
    "input.no_feed": _input("input_missing", "Restore it", "change data"),
    "storage.s3a_without_jar": Answer("no_file_system", ("cannot use s3a", "S3AFileSystem"), "hadoop-aws"),
    "storage.gs_without_jar": Answer("no_file_system", ("cannot use gs", "GoogleHadoopFileSystem"), "gcs-connector"),
    "storage.no_such_host": Answer("storage_failed", ("the input src", "unknown host: bucket"), "network"),
    "storage.untrusted": Answer("storage_tls", ("the input src", "PKIX path building failed"), "trustStore"),
    "storage.no_permission": Answer("storage_denied", ("the input src", "Permission denied: user"), "credentials"),
    "storage.wrong_credentials": Answer("storage_denied", ("the input src", "Unauthorized"), "credentials"),
    "storage.disk_full": Answer("disk_full", ("ran out of disk space", "No space left on device"), "Free disk space"),
    "storage.read_only": Answer("storage_denied", (f"the target {LAKE}/", "Read-only file system"), "Give the user"),
    "target.check": _constraint("CHECK constraint amount_sane", "values: amount : 5000"),
    "target.check_merge": _constraint("CHECK constraint amount_sane", "amount : 5000"),
    "target.check_keyed_replace": _constraint("CHECK constraint amount_sane", "amount : 5000"),
    "target.check_replace_on": _constraint("CHECK constraint amount_sane", "amount : 5000"),
    "target.not_null": _constraint("NOT NULL constraint violated for column: note"),
    "target.not_null_nested": _constraint("NOT NULL constraint violated for column: s.a"),
    "target.too_long": _constraint('Value "abcd" exceeds', "length(code) <= 3"),
    "target.generated": _constraint("Generated Column", "id : 1, twice : 5"),
    "target.identity": _refused("GENERATED ALWAYS AS IDENTITY column id"),
    "target.collated": _refused("unsupported data types: [v: StringType(UTF8_LCASE)]"),
    "target.append_only": Answer("append_only", (f"the target {LAKE}/", "append-only"), "UNSET TBLPROPERTIES"),
    "target.dropped": Answer("table_missing", (f"the target {LAKE}/", "is gone"), "Restore the table"),
    "target.column_dropped": Answer("target_changed", (f"the target {LAKE}/", "Cannot resolve"), "is abandoned"),
    "target.file_gone": Answer("target_unreadable", (f"the target {LAKE}/", "does not exist"), "RESTORE TABLE"),
    "target.file_damaged": Answer("target_unreadable", (f"the target {LAKE}/", "Checksum error"), "RESTORE TABLE"),
    "target.staging_gone": Answer("staging_lost", ("staged changes", "does not exist"), "is abandoned"),
    "target.partition_too_long": Answer(
        "partition_value_too_long", ("the partition column name has 400 bytes",), "not by name"
    ),
    "target.not_a_table": Answer("not_a_table", ("no Delta table lies where the target", LAKE), "Move it away"),
    "target.no_partition_column": _refused("nosuch"),
    "target.only_partitions": _refused("partition"),
    "target.clustered_by_map": _refused("m"),
    "target.no_such_property": _refused("delta.nosuch"),
    "target.bad_property": _refused("soon is not a valid INTERVAL"),
    "target.view_schema": Answer("target_refused", ("schema `spark_catalog`.`nosuch` cannot be found",), "Correct"),
    "server.no_delta": Answer(
        "no_delta",
        ("the Spark server has no Delta",),
        "spark.sql.catalog.spark_catalog=org.apache.spark",
    ),
    "server.no_delta_confs": Answer("no_delta", ("the Spark server has no Delta",), "io.delta.sql.DeltaSparkSession"),
    "server.no_token": Answer("spark_denied", ("does not accept these credentials",), "token"),
    "server.no_tls": Answer("spark_tls", ("no TLS connection to the Spark server",), "use_ssl"),
    "server.stopped": Answer("spark_unreachable", ("Spark does not answer any more",), "Run again"),
    "memory.driver": Answer("out_of_memory", ("serialized results",), "spark.driver.maxResultSize"),
    "memory.execution": Answer("out_of_memory", ("Unable to acquire",), "spark.executor.memory"),
    "session.released": Answer("session_lost", ("was ended by another process",), "Run again"),
    "session.interrupted": Answer("statement_cancelled", ("was cancelled",), "Run again"),
    "commit.conflict": Answer("concurrent_commit", ("another writer's commit came first",), "Run again"),
}


def check(name: str, error: RefreshError, doing: Doing) -> None:
    """Assert that an error is the expected answer: all its parts, and none of the words of a stack trace."""
    expected = EXPECTED[name]
    assert error.code == expected.code, error.parts
    assert [part for part in expected.says if part not in error.message] == [], error.message
    assert expected.next in error.next, error.next
    assert error.left == doing.left
    assert [word for word in _NOISE if word in error.message] == [], error.message


def recorded() -> dict[str, tuple[Fault, Doing]]:
    """The facts of all errors, as they were recorded."""
    stored: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    return {
        name: (Fault.model_validate(facts["fault"]), Doing.model_validate(facts["doing"]))
        for name, facts in stored.items()
    }
