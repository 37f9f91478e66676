from __future__ import annotations

import pickle

import grpc
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkAssertionError
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from airflow_refresh_provider.spark.connect.fault_errors import of
from airflow_refresh_provider.spark.connect.faults import FaultKind, as_refresh_error, fault_of


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
    assert fault_of(error).kind is kind


def test_a_full_disk_is_found_below_what_wraps_it() -> None:
    trace = (
        "org.apache.spark.SparkException\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: No space left on device"
    )
    error = _grpc("[TASK_WRITE_FAILED] Task failed while writing rows.", grpc.StatusCode.INTERNAL, trace)

    fault = fault_of(error)

    assert (fault.kind, fault.first_line) == (FaultKind.OUT_OF_DISK, "Task failed while writing rows.")


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_has_an_error_in_three_parts_that_can_cross_processes(kind: FaultKind) -> None:
    error = of(kind, "reason", "as it was")

    assert error.message and error.next
    assert pickle.loads(pickle.dumps(error)).left == "as it was"  # noqa: S301


def test_a_position_is_shown_to_the_user() -> None:
    error = SparkConnectGrpcException(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] no `x`. SQLSTATE: 42703; line 2 pos 4",
        errorClass="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        messageParameters={},
        sql_state="42703",
    )

    assert "no `x`. (line 2, column 5)" in as_refresh_error(fault_of(error), left="").message
