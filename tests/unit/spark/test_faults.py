from __future__ import annotations

import pickle
from datetime import UTC, datetime

import grpc
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkAssertionError
from pyspark.errors.exceptions.connect import AnalysisException, SparkConnectGrpcException

from airflow_refresh_provider.core.faults.answers import explained
from airflow_refresh_provider.core.faults.blame import Place, blamed
from airflow_refresh_provider.core.faults.fault import Cause, Doing, Fault, Fragment, SentQuery, chain_of
from airflow_refresh_provider.core.faults.sentences import reason
from airflow_refresh_provider.core.query.facts import ClockSpan
from airflow_refresh_provider.core.query.outputs import start_of_output
from airflow_refresh_provider.spark.connect.faults import FaultKind, fault_of, kind_of, reading


def _grpc(message: str, status: grpc.StatusCode, trace: str | None = None) -> SparkConnectGrpcException:
    return SparkConnectGrpcException(
        message,
        errorClass="TASK_WRITE_FAILED" if trace else None,
        messageParameters={} if trace else None,
        server_stacktrace=trace,
        grpc_status_code=status,
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_grpc("gone", grpc.StatusCode.UNAVAILABLE), FaultKind.UNREACHABLE),
        (_grpc("slow", grpc.StatusCode.DEADLINE_EXCEEDED), FaultKind.UNREACHABLE),
        (_grpc("stopped", grpc.StatusCode.CANCELLED), FaultKind.CANCELLED),
        (_grpc("odd", grpc.StatusCode.INTERNAL), FaultKind.OTHER),
        (_grpc("", grpc.StatusCode.UNKNOWN), FaultKind.NO_MESSAGE),
        (Py4JNetworkError("gone"), FaultKind.UNREACHABLE),
        (Py4JError("gone"), FaultKind.UNREACHABLE),
        (PySparkAssertionError("Received incorrect server side session identifier"), FaultKind.SESSION_GONE),
    ],
)
def test_a_failed_call_is_classified_by_its_status(error: Exception, kind: FaultKind) -> None:
    assert kind_of(fault_of(error)) is kind


def test_a_full_disk_is_found_below_what_wraps_it() -> None:
    trace = (
        "org.apache.spark.SparkException\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: No space left on device"
    )
    error = _grpc("[TASK_WRITE_FAILED] Task failed while writing rows.", grpc.StatusCode.INTERNAL, trace)

    fault = fault_of(error)

    assert kind_of(fault) is FaultKind.OUT_OF_DISK
    assert reason(fault) == "No space left on device"


def test_an_answer_can_cross_processes() -> None:
    error = explained(fault_of(_grpc("gone", grpc.StatusCode.UNAVAILABLE)), Doing(left="as it was"))

    assert pickle.loads(pickle.dumps(error)).parts == error.parts  # noqa: S301
    assert error.left == "as it was"


_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 1.0 (TID 6) (10.0.0.7 executor 2): "
)
_LOST = f"{_TASK}ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: "


@pytest.mark.parametrize(
    ("reason_given", "kind"),
    [
        ("Command exited with code 137", FaultKind.OUT_OF_MEMORY),
        ("Command exited with code 52", FaultKind.OUT_OF_MEMORY),
        ("Command exited with code 1", FaultKind.OTHER),
        (
            "\nThe executor with id 2 exited with exit code 137(SIGKILL, possible container OOM).\n\n",
            FaultKind.OUT_OF_MEMORY,
        ),
        (
            "Container killed by YARN for exceeding physical memory limits. 5.6 GB of 5.5 GB physical memory used.",
            FaultKind.OUT_OF_MEMORY,
        ),
    ],
)
def test_an_executor_that_was_killed_for_its_memory_is_known_by_what_the_classes_of_spark_write(
    reason_given: str, kind: FaultKind
) -> None:
    """Not provoked: an executor of its own is needed, and a machine that kills it."""
    fault = fault_of(_grpc(f"{_LOST}{reason_given}\nDriver stacktrace:", grpc.StatusCode.INTERNAL))
    assert kind_of(fault) is kind
    error = explained(fault, Doing(left="as it was"))
    assert "executor 2 exited caused by one of the running tasks" in error.message
    assert (error.code == "out_of_memory", "spark.executor.memory" in error.next) == (kind is not FaultKind.OTHER,) * 2


def test_an_error_of_the_java_heap_in_a_task_is_one_of_memory_as_the_classes_of_spark_write_it() -> None:
    message = f"{_TASK}java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)"
    fault = fault_of(_grpc(message, grpc.StatusCode.INTERNAL))
    assert (kind_of(fault), reason(fault)) == (FaultKind.OUT_OF_MEMORY, "Java heap space")


def test_words_of_a_user_do_not_decide_what_kind_an_error_is() -> None:
    cause = Cause(error_class="USER_RAISED_EXCEPTION", message="[USER_RAISED_EXCEPTION] No space left on device")

    assert kind_of(Fault(kind="SparkRuntimeException", chain=(cause,))) is FaultKind.BAD_VALUE


def test_causes_are_read_from_the_trace_without_frames_and_equal_ones_once() -> None:
    trace = (
        "org.apache.spark.SparkException\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: x y: 1\nsecond line\n"
        "\tat a.B.c(B.java:1)\n\t... 3 more\nCaused by: java.io.IOException: x y: 1\nsecond line"
    )

    found = chain_of("[TASK_WRITE_FAILED] failed", trace, "TASK_WRITE_FAILED")

    assert [(cause.type, cause.error_class, cause.message) for cause in found] == [
        ("org.apache.spark.SparkException", "TASK_WRITE_FAILED", "[TASK_WRITE_FAILED] failed"),
        ("java.io.IOException", "", "x y: 1\nsecond line"),
    ]


def test_a_position_in_a_query_whose_clock_functions_were_replaced_is_that_in_the_query_as_written() -> None:
    written = "SELECT now() AS n, nope FROM x"
    sent = written.replace("now()", "TIMESTAMP'2026-01-01 00:00:00.000000+00:00'")
    error = AnalysisException(
        f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] no `nope`. SQLSTATE: 42703; line 1 pos {sent.index('nope')}",
        errorClass="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        messageParameters={},
        sql_state="42703",
    )
    query = SentQuery(
        text=sent,
        written=written,
        clock_spans=(ClockSpan(function="now", start=7, end=12),),
        moment=datetime(2026, 1, 1, tzinfo=UTC),
    )

    found = explained(fault_of(error), Doing(left="", query=query))

    place = f"(line 1, column {written.index('nope') + 1})"
    assert found.message == f"Spark refuses the query: no `nope`, in the query {place}"


def test_a_position_in_a_generated_statement_is_not_shown() -> None:
    cause = Cause(error_class="UNRESOLVED_COLUMN", message="[UNRESOLVED_COLUMN] no `x`. SQLSTATE: 42703; line 9 pos 4")
    fault = Fault(kind="AnalysisException", chain=(cause,), fragments=(Fragment(text="CAST(`x` AS int)", start=0),))

    error = explained(fault, Doing(left="", query=SentQuery(text="SELECT x FROM y")))

    assert (error.code, error.message) == ("query_invalid", "Spark refuses the query: no `x`.")


@pytest.mark.parametrize(
    ("message", "place", "name"),
    [
        ("file:///data/a/part-1.parquet is damaged", Place.INPUT, "a"),
        ("s3a://bucket/b%20b/part-1.parquet is damaged", Place.INPUT, "b"),
        ("/data/a/target/part-1.parquet is damaged", Place.TARGET, ""),
        ("/data/ab/part-1.parquet is damaged", Place.UNKNOWN, ""),
        ("Path does not exist: file:/data/a.", Place.INPUT, "a"),
        ("/staging/1/part-1.parquet is damaged", Place.STAGING, ""),
    ],
)
def test_the_longest_location_that_is_named_whole_is_blamed(message: str, place: Place, name: str) -> None:
    doing = Doing(
        left="", inputs={"a": "/data/a", "b": "s3://bucket/b b"}, target="/data/a/target", staging=("/staging/1",)
    )

    found = blamed(Fault(kind="SparkException", chain=(Cause(message=message),)), doing)

    assert (found.place, found.name) == (place, name)


def test_a_folder_that_cannot_be_made_is_denied_by_the_storage() -> None:
    cause = Cause(type="java.io.IOException", message="Mkdirs failed to create file:/t/n=a (exists=false, cwd=file:/w)")

    error = explained(Fault(kind="SparkException", chain=(cause,)), Doing(left="", target="/t"))

    assert (error.code, "Spark cannot make a folder of the target /t" in error.message) == ("storage_denied", True)


def test_a_folder_that_delta_cannot_create_is_denied_by_the_storage() -> None:
    cause = Cause(message="Cannot create file:/t/_delta_log", error_class="DELTA_CANNOT_CREATE_LOG_PATH")

    error = explained(Fault(kind="SparkException", chain=(cause,)), Doing(left="", target="/t"))

    assert (error.code, "Spark cannot make a folder of the target /t" in error.message) == ("storage_denied", True)


def test_the_input_that_was_being_opened_is_blamed_whatever_the_text_says() -> None:
    error = _grpc("something", grpc.StatusCode.INTERNAL)
    with pytest.raises(SparkConnectGrpcException), reading("b"):
        raise error

    found = blamed(fault_of(error), Doing(left="", inputs={"a": "/a", "b": "/b"}))

    assert (found.place, found.name) == (Place.INPUT, "b")


@pytest.mark.parametrize(
    ("query", "name", "expected"),
    [
        ("SELECT a, f(b, c) AS x FROM t", "X", "f(b"),
        ("WITH c AS (SELECT 1 AS x) SELECT y,\n x / 2 AS x FROM c", "x", "x / 2"),
        ("SELECT x FROM a UNION ALL SELECT y AS x FROM b", "x", "x FROM a"),
        ("SELECT array(1, 2)[0] AS x, y", "y", "y"),
        ("SELECT * FROM t", "x", None),
        ("SELECT (", "x", None),
    ],
)
def test_a_column_of_the_result_is_found_in_the_query(query: str, name: str, expected: str | None) -> None:
    start = start_of_output(query, name)

    assert start is None if expected is None else query[start or 0 :].startswith(expected)
