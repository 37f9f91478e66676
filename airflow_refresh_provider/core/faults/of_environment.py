"""Answers to errors of the Spark server, the way to it, and storage."""

from __future__ import annotations

import re

from airflow_refresh_provider.core.faults.case import RESUME, Case
from airflow_refresh_provider.errors import UNREACHABLE, Conflict, Failed, RefreshError, Retry

_CONFS = (
    "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
)
_DELTA_JAR = "io.delta:delta-spark_<Spark version>_2.13"
_FILE_SYSTEMS = {"s3": "org.apache.hadoop:hadoop-aws", "s3a": "org.apache.hadoop:hadoop-aws"}
_FILE_SYSTEMS |= {"abfs": "org.apache.hadoop:hadoop-azure", "abfss": "org.apache.hadoop:hadoop-azure"}
_FILE_SYSTEMS |= {"gs": "com.google.cloud.bigdataoss:gcs-connector"}
_SCHEME = re.compile(r"fs\.(s3a|gs|abfs)|[Ss]cheme:? \"?(\w+)")


def concurrency(case: Case) -> RefreshError:
    """Another commit came first; the statement can be repeated."""
    message = f"another writer's commit came first: {case.reason}"
    return Conflict("concurrent_commit", message, left=case.left, next=RESUME)


def unreachable(case: Case) -> RefreshError:
    """The server is gone, or the network to it."""
    return Retry(UNREACHABLE, "Spark does not answer any more", left=case.left, next=RESUME)


def session_gone(case: Case) -> RefreshError:
    """The session was released, or its server was started again."""
    return Retry("session_lost", "the Spark session was ended by another process", left=case.left, next=RESUME)


def cancelled(case: Case) -> RefreshError:
    """The statement was interrupted."""
    return Retry("statement_cancelled", "the statement was cancelled in Spark", left=case.left, next=RESUME)


def no_delta(case: Case) -> RefreshError:
    """The server cannot read Delta tables at all."""
    return Failed(
        "no_delta",
        f"the Spark server has no Delta: {case.reason}",
        left=case.left,
        next=f"Start it with the jar {_DELTA_JAR} (--packages, or in its image) and with --conf {_CONFS[0]} and "
        f"--conf {_CONFS[1]}, then run again.",
    )


def no_file_system(case: Case) -> RefreshError:
    """The server has no jar for the kind of storage."""
    found = _SCHEME.search("\n".join(cause.message for cause in case.fault.chain))
    scheme = next((group for group in found.groups() if group), "") if found else ""
    jar = f"the jar {_FILE_SYSTEMS[scheme]}" if scheme in _FILE_SYSTEMS else "the jar of that storage"
    return Failed(
        "no_file_system",
        f"the Spark server cannot use {scheme or 'this storage'}: {case.reason}",
        left=case.left,
        next=f"Start it with {jar} (--packages, or in its image), or correct the location, then run again.",
    )


def tls(case: Case) -> RefreshError:
    """Address and server do not agree about TLS."""
    return Failed(
        "spark_tls",
        f"no TLS connection to the Spark server: {case.reason}",
        left=case.left,
        next="Check `use_ssl` in the address (sc://host:port/;use_ssl=true where the server speaks TLS, without it "
        "where it does not) and that its certificate is trusted here, then run again.",
    )


def spark_denied(case: Case) -> RefreshError:
    """The server wants another token."""
    return Failed(
        "spark_denied",
        f"the Spark server does not accept these credentials: {case.reason}",
        left=case.left,
        next="Correct the token in the address (`sc://host:port/;token=...`), then run again.",
    )


def out_of_disk(case: Case) -> RefreshError:
    """A disk of the server, or that of a table, is full."""
    return Failed(
        "disk_full",
        f"Spark ran out of disk space: {case.reason}",
        left=case.left,
        next="Free disk space, then run again; the refresh resumes from its last commit.",
    )


def storage_denied(case: Case) -> RefreshError:
    """No permission, or storage that is read-only."""
    return Failed(
        "storage_denied",
        f"Spark may not read or write {case.table}: {case.reason}",
        left=case.left,
        next="Give the user or the credentials of the Spark server access to it, then run again.",
    )


def no_folder(case: Case) -> RefreshError:
    """A folder cannot be made, mostly where executors do not share the storage."""
    return Failed(
        "storage_denied",
        f"Spark cannot make a folder of {case.table}: {case.reason}",
        left=case.left,
        next="Check that the Spark server and its executors see the same storage and may write there, and that no "
        "file lies where the folder should be, then run again.",
    )


def storage_unreachable(case: Case) -> RefreshError:
    """The host of the storage is not known or does not answer."""
    return Retry(
        "storage_failed",
        f"Spark cannot reach the storage of {case.table}: {case.reason}",
        left=case.left,
        next="Check the location and the network of the Spark server, then run again.",
    )


def storage_tls(case: Case) -> RefreshError:
    """The server does not trust the certificate of the storage."""
    return Failed(
        "storage_tls",
        f"Spark has no TLS connection to the storage of {case.table}: {case.reason}",
        left=case.left,
        next="Have the Java of the Spark server and of its executors trust the certificate of the storage "
        "(javax.net.ssl.trustStore), or correct the location, then run again.",
    )


def out_of_memory(case: Case) -> RefreshError:
    """The driver or an executor has too little memory, or has had."""
    return Failed(
        "out_of_memory",
        f"Spark ran out of memory: {case.reason}",
        left=case.left,
        next="Give the Spark server more memory (spark.driver.memory, spark.driver.maxResultSize), or its executors "
        "(spark.executor.memory, spark.executor.memoryOverhead), then run again.",
    )


def no_message(case: Case) -> RefreshError:
    """An error that is fatal in Java comes without its message."""
    return Retry(
        "spark_no_message",
        "a call to Spark ended with an error that has no message",
        left=case.left,
        next=f"{RESUME} If it fails again, restart Spark (the embedded one: `airflow-refresh spark stop`).",
    )


def other(case: Case) -> RefreshError:
    """Anything else; what Spark says is all that is known."""
    return Failed(
        "spark_failed",
        f"Spark failed: {case.reason_and_position}",
        left=case.left,
        next="The debug log has Spark's full message. Fix the cause, then run again.",
    )
