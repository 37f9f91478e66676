"""Commits with a stamp: marker and note, as writer options or as settings of the session.

Delta reads the settings both at the start of a transaction and at its commit, so they are only reset once the statement
is known to have ended; otherwise the session is not used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from airflow_refresh_provider.core.definition.columns import VNODE, Columns
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.tasks import CompareTask, RecomputeTask, Stamp, WindowTask
from airflow_refresh_provider.spark.acts import ddl, sql
from airflow_refresh_provider.spark.connect import sessions
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, FaultKind, fault_of, kind_of

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
_MERGE_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
_DELETE_VECTORS = "spark.databricks.delta.delete.deletionVectors.persistent"
_CLASHING = frozenset({"filepath", "dvfilepath", "rowindexcol"})
"""Names that Delta uses itself when it writes deletion vectors. A table with such a column has its files rewritten."""

_ENDED = frozenset({FaultKind.PARSE, FaultKind.ANALYSIS, FaultKind.CONCURRENCY})
"""Errors after which the statement is known to have ended."""


def stamped(writer: DataFrameWriter, stamp: Stamp) -> DataFrameWriter:
    """A writer whose one commit carries the stamp."""
    return (
        writer.format("delta")
        .option("txnAppId", stamp.app_id)
        .option("txnVersion", stamp.marker.version)
        .option("userMetadata", stamp.note.text())
    )


def stage(rows: DataFrame, task: CompareTask | RecomputeTask | WindowTask, *, by_vnode: bool) -> StagedTable:
    """Stage a change set: as parquet files that are only ever written once; `by_vnode`: as a Delta table by vnode."""
    if not by_vnode:
        rows.write.mode("error").parquet(task.location)
        return StagedTable(location=task.location, version=None)
    writer = stamped(rows.repartition(VNODE).write, task.stamp).mode("overwrite")
    writer.options(**ddl.naming(task.target.columns)).partitionBy(VNODE).save(task.location)
    return StagedTable(location=task.location, version=0)


def mark(spark: SparkSession, target: Target, stamp: Stamp) -> None:
    """Commit the stamp and nothing else. By SQL, which does not create the table again if it was dropped.

    Columns that are kept are left out: some take no value. Those that others have removed since are not named.
    """
    kept = {c.name for c in target.kept}
    schema = spark.read.format("delta").load(target.location).schema
    fields = [f for f in schema.fields if f.name not in kept]
    nulls = ", ".join(f"CAST(NULL AS {ddl.type_text(f.dataType)})" for f in fields)
    into = f"{sql.table(target.location)} ({sql.names(f.name for f in fields)})"
    with stamping(spark, stamp):
        spark.sql(f"INSERT INTO {into} SELECT {nulls} WHERE false").collect()


@contextmanager
def stamping(spark: SparkSession, stamp: Stamp) -> Iterator[None]:
    """The one statement inside the block commits with the stamp."""
    with setting(spark, {_APP_ID: stamp.app_id, _VERSION: str(stamp.marker.version), _NOTE: stamp.note.text()}):
        yield


@contextmanager
def no_clash_with_vectors(spark: SparkSession, columns: Columns) -> Iterator[None]:
    """Inside the block no deletion vectors are written for a table with one of the clashing column names."""
    clash = any(c.name.lower() in _CLASHING for c in columns)
    with setting(spark, {_MERGE_VECTORS: "false", _DELETE_VECTORS: "false"} if clash else {}):
        yield


@contextmanager
def setting(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Settings for one statement, reset when it is known to have ended: it succeeded, conflicted or was refused.

    Errors of ours are raised about what it has given.
    """
    if not values:
        yield
        return
    before = sessions.values_of(spark, values)
    sessions.configure(spark, values)
    ended = False
    try:
        yield
        ended = True
    except SPARK_ERRORS as error:
        ended = kind_of(fault_of(error)) in _ENDED
        raise
    except RefreshError:
        ended = True
        raise
    finally:
        if ended:
            sessions.restore(spark, before)
