"""The driver of an embedded server: a session that stands for its Spark, which serves Connect beside it as a plugin.

The server program that comes with Spark insists on classes of its own for every session, and so compiles for each of
them again what it has compiled for others before. Here the confs decide.

It is run by spark-submit, in a process beside the JVM that ends with it. It knows nothing of this package. Its argument
is the file that it makes once Spark is complete.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

_LOOK_EVERY = 1.0
_OF_A_STATEMENT = "SparkConnect_OperationTag"
"""How the tags begin that Connect gives to the jobs of a statement."""


def _end_leftovers(spark: SparkContext) -> None:
    """End the jobs of statements that are no more, for ever.

    A statement that is interrupted cancels the jobs that it has, once. What its other threads prepare at that moment, a
    broadcast or an exchange, becomes a job a little later, which would keep its cores until it is done.
    """
    before: set[str] = set()
    with suppress(Py4JNetworkError):  # the JVM is gone, and in a moment this process
        while True:
            time.sleep(_LOOK_EVERY)
            left = _left_over(spark)
            # Seen twice: between a statement's end and that of its last job there may be a moment.
            for tag in left & before:
                spark.cancelJobsWithTag(tag)
            before = left


def _left_over(spark: SparkContext) -> set[str]:
    """Tags of jobs at work whose statements are not there; jobs first, as a statement is there before its jobs."""
    java: Any = spark._jvm
    running = java.java.util.List.of(java.org.apache.spark.JobExecutionStatus.RUNNING)
    jobs = _each(spark._jsc.sc().statusStore().jobsList(running))
    tags = {tag for job in jobs for tag in _each(job.jobTags()) if tag.startswith(_OF_A_STATEMENT)}
    if not tags:
        return tags
    statements = java.org.apache.spark.sql.connect.service.SparkConnectService.listActiveExecutions().toOption()
    return tags - {statement.jobTag() for some in _each(statements) for statement in _each(some)}


def _each(collection: Any) -> Iterator[Any]:
    """What a collection of Scala's holds."""
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    threading.Thread(target=_end_leftovers, args=[session.sparkContext], daemon=True).start()
    Path(sys.argv[1]).touch()
    sys.stdin.read()  # nothing is ever written to it: it ends with the JVM, which holds its other end
    os._exit(0)
