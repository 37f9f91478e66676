"""Checksums of the desired rows by bucket of the key, and the rows of buckets that differ from those of the target.

A bucket has the XOR of the hashes of its rows, and their number (ADR 77). The key is part of a row's hash, so that no
two rows have the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.ports.tasks import ChecksumTask, CompareTask
from airflow_refresh_provider.spark.acts import content, sql, stamped_writes
from airflow_refresh_provider.spark.acts.differences import Within
from airflow_refresh_provider.spark.acts.observed import observe, observed

LEAST_ROWS = 1_000_000
"""Fewer are compared in less time than the checksums take."""
MOST_COMPARED = 0.3
"""Where the buckets that differ have more than this share of the rows, everything is compared."""
FAST_MAP = "spark.sql.codegen.aggregate.fastHashMap.capacityBit"
"""How many groups Spark's faster hash map has place for, as a power of two: 16 by default. It looks at two places only,
and what does not fit goes into the slower map."""
_SPARE_BITS = 2
_MOST_BITS = 22
"""Takes 32 MB in a task, and as much for the groups as they have."""
_SCHEMA = "bucket INT, sum BIGINT, rows BIGINT, differs BOOLEAN"


@dataclass(frozen=True)
class Taken:
    """The checksums that were made, and at most how many rows either side has in buckets that differ."""

    made: Checksums
    to_compare: int

    @property
    def pays(self) -> bool:
        """Whether few rows are left to compare."""
        return self.to_compare <= MOST_COMPARED * self.made.rows


def take(spark: SparkSession, task: CompareTask, wanted: ChecksumTask) -> Taken:
    """Make the checksums, and compare them with those of the target, where these are known."""
    seen = Observation("checksums")
    to_compare = "sum(IF(differs, greatest(rows, before), 0L)) AS to_compare"
    measures = map(F.expr, ("count(*) AS entries", "sum(rows) AS rows", to_compare))
    found = observe(_beside_known(spark, _of_desired(spark, task, wanted), wanted), seen, *measures)
    with stamped_writes.setting(spark, {FAST_MAP: str(_places(wanted.buckets))}):
        found.drop("before").write.mode("error").parquet(wanted.location)
    values = observed(seen)
    made = Checksums(
        location=wanted.location,
        buckets=wanted.buckets,
        entries=values.get("entries", 0),
        rows=values.get("rows") or 0,
    )
    return Taken(made, values.get("to_compare") or 0)


def within(spark: SparkSession, task: CompareTask, made: Checksums) -> Within:
    """What leaves the rows of buckets that differ."""
    differing = F.broadcast(_read(spark, made.location).where("differs").select("bucket"))
    same = f"{_bucket(task, made.buckets, 'r')} = k.bucket"
    return lambda rows: rows.alias("r").join(differing.alias("k"), F.expr(same), "left_semi")


def _places(buckets: int) -> int:
    return min(_MOST_BITS, buckets.bit_length() + _SPARE_BITS)


def _of_desired(spark: SparkSession, task: CompareTask, wanted: ChecksumTask) -> DataFrame:
    rows = content.desired(spark, task.source, task.target, task.rows)
    hashes = rows.selectExpr(
        f"{_bucket(task, wanted.buckets)} AS bucket", f"{sql.row_hash(task.target.columns)} AS hash"
    )
    return hashes.groupBy("bucket").agg(F.expr("bit_xor(hash)").alias("sum"), F.expr("count(*)").alias("rows"))


def _beside_known(spark: SparkSession, desired: DataFrame, wanted: ChecksumTask) -> DataFrame:
    """Beside those of the target: whether a bucket differs, and how many rows it had `before`."""
    if wanted.known is None:
        return desired.selectExpr("*", "true AS differs", "0L AS before")
    known = _read(spark, wanted.known.location).where("rows > 0")
    both = desired.alias("d").join(known.alias("t").hint("shuffle_hash"), F.expr("d.bucket = t.bucket"), "full_outer")
    return both.selectExpr(
        "coalesce(d.bucket, t.bucket) AS bucket",
        "d.sum AS sum",
        "coalesce(d.rows, 0L) AS rows",
        "NOT (d.sum <=> t.sum AND d.rows <=> t.rows) AS differs",
        "coalesce(t.rows, 0L) AS before",
    )


def _read(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.schema(_SCHEMA).parquet(content.literally(folder))


def _bucket(task: CompareTask, buckets: int, prefix: str | None = None) -> str:
    keys = sql.key_columns(task.target.columns, task.source.keys)
    return f"CAST(pmod({sql.key_hash(keys, prefix)}, {buckets}L) AS INT)"
