"""A program for spark-submit's side of the engine: the same acts in a classic session, with their results as JSON.

Arguments: a scratch folder, and the jars that Delta needs, joined as a class path.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.log.commits import last_equal
from airflow_refresh_provider.core.maintain.plan import Maintenance, Use
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.delta_table import listed_files
from airflow_refresh_provider.delta.tables.files_within import read_of
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.errors import Failed, Invalid, Retry
from airflow_refresh_provider.ports.tasks import Source, Touched
from airflow_refresh_provider.spark.acts import sql, touched_rows
from airflow_refresh_provider.spark.connect.sessions import open_classic
from airflow_refresh_provider.spark.engine import ClassicEngine
from tests.engine.acts import Lake, source
from tests.frugal import FRUGAL

_LONGEST_SECONDS = 200.0
_QUERY = (
    "SELECT id AS v, concat('k''', id) AS k, array(named_struct('a b', {}, 'n', CAST(NULL AS INT)), NULL) AS a "
    "FROM range({})"
)
_FIRST = source(_QUERY.format("id", "0, 10"), "k")
_UPSERTED = source(_QUERY.format("if(id < 3, 9, id)", "0, 12"), "k")
_THEN = source(_QUERY.format("if(id < 6, 8, id)", "5, 15"), "k")


def _application(folder: Path, class_path: str) -> SparkSession:
    builder: SparkSession.Builder = SparkSession.builder
    confs = {
        "spark.driver.extraClassPath": class_path,
        "spark.driver.memory": "1g",
        "spark.driver.defaultJavaOptions": FRUGAL,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in confs.items():
        builder = builder.config(name, value)
    return builder.master("local[2]").getOrCreate()


def _acts(lake: Lake) -> dict[str, object]:
    results: dict[str, object] = {}
    for by_vnode, ways in ((False, (Way.REPLACE_ON, Way.MERGE)), (True, (Way.KEYED_REPLACE, Way.REPLACE_VNODES))):
        target = lake.target(_FIRST, by_vnode=by_vnode)
        lake.load(target, _FIRST)
        lake.session.mark(target, lake.stamp(target))
        for way, content in zip(ways, (_UPSERTED, _THEN), strict=True):
            results[way] = lake.refresh(target, content, way).model_dump()
    results["from nothing"] = _to_and_from_nothing(lake)
    results["touched"] = _touched(lake)
    results["statistics"] = _statistics(lake)
    results["duplicates"] = lake.keys(source("SELECT 1 AS k FROM range(2)", "k")).duplicate_keys
    try:
        lake.session.describe(source("SELECT nope", "k"))
    except Invalid as error:
        results["refusal"] = error.message
    by_zero = source("SELECT id AS k, 1 / (id - 1) AS v FROM range(2)", "k")
    divided = lake.target(by_zero)
    try:
        lake.load(divided, by_zero)
    except Failed as error:
        results["bad value"] = error.code
    return results


def _to_and_from_nothing(lake: Lake) -> list[object]:
    """Comparisons of which a side is known to have no rows: the target, the query, both."""
    empty, full = lake.target(_FIRST), lake.target(_FIRST)
    lake.load(full, _FIRST)
    none = source(_QUERY.format("id", "0, 0"), "k")
    compared = [lake.compare(*sides) for sides in ((empty, _FIRST), (full, none), (empty, none))]
    return [[c.source_rows, c.target_rows, c.total.inserted, c.total.deleted] for c in compared]


def _touched(lake: Lake) -> list[int]:
    """The rows with touched values, of files with a deleted row."""
    spark, place, query = lake.spark, lake.place("sorted"), "SELECT id AS k FROM x"
    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    spark.sql(f"CREATE TABLE {sql.table(place)} USING delta {vectors} AS SELECT id FROM range(0, 1000, 1, 1)")
    spark.sql(f"DELETE FROM {sql.table(place)} WHERE id = 7")
    table, values = DeltaTable(place), lake.place("values")
    read = read_of(table, place, listed_files(table)["path"].to_pylist())
    assert read is not None and read.deleted == ((7,),)
    StagingFolders().stage(values, ("bigint",), {(5,), (7,), (900,)})
    use = Use(input="x", start=query.index("x"), end=len(query), aliased=False, restrictions=(("`id`",),))
    touched = Touched(
        location=values,
        maintenance=Maintenance(anchors=("k",), uses=(use,), routes=()),
        rows=3,
        types=("bigint",),
        reads={0: read},
    )
    columns = (Column(name="k", type="bigint"),)
    target = Target(location="/none", table_id="none", columns=columns, vnodes=1, deletion_vectors=False)
    found = touched_rows.result(spark, Source(query=query, reads={"x": read}, keys=("k",)), target, touched)
    return sorted(row.k for row in found.collect())


def _statistics(lake: Lake) -> list[object]:
    """The commit in which Delta computes the statistics of a table once more, and the version that readers are given.

    Delta has no statement for it.
    """
    target = lake.target(_FIRST, properties={})  # Delta refuses those with deletion vectors
    lake.load(target, _FIRST)
    loaded = lake.log.newest(target.location)
    jvm, session = lake.spark._jvm, lake.spark._jsparkSession
    assert jvm is not None
    delta = jvm.org.apache.spark.sql.delta
    log = delta.DeltaLog.forTable(session, target.location)
    every = [getattr(delta.stats.StatisticsCollection, f"recompute$default${n}")() for n in (4, 5)]
    delta.stats.StatisticsCollection.recompute(session, log, jvm.scala.Option.empty(), *every)
    [commit] = lake.log.commits(target.location, after=loaded)
    return [commit.operation, last_equal([commit], target.table_id, loaded) - loaded]


def _released(spark: SparkSession) -> str:
    """The error of a statement whose session is released while it runs."""
    engine = ClassicEngine(spark, StagingFolders())
    session = engine.open("long")
    endless = source("SELECT id AS k FROM range(1000000000000)", "k")
    target = Target(
        location="/none", table_id="none", columns=session.describe(endless), vnodes=1, deletion_vectors=False
    )
    with ThreadPoolExecutor(1) as pool:
        statement = pool.submit(session.check_keys, endless, target)
        end = time.monotonic() + _LONGEST_SECONDS
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            assert time.monotonic() < end
            time.sleep(0.1)
        engine.release("long")
        error = statement.exception(_LONGEST_SECONDS)
    assert isinstance(error, Retry), error
    return error.code


def main(folder: Path, class_path: str) -> None:
    """Run the acts in a session beside the application's own."""
    spark = _application(folder, class_path)
    results = _acts(Lake(open_classic(spark), folder / "lake"))
    results["released"] = _released(spark)
    results["columns"] = [c.name for c in ClassicEngine(spark, StagingFolders()).open("any").describe(_FIRST)]
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
