"""The driver program of an embedded server: a Spark session whose JVM serves Spark Connect as a plugin.

The server program that comes with Spark forces a class loader for each session, so that generated code is compiled
again for each of them. Here the confs decide.

It is run by spark-submit, in a Python process that ends with the JVM, and does not import this package. Its argument is
the file that it creates once Spark is ready.
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
"""The prefix of the tags that Connect gives to the jobs of a statement."""


def _cancel_orphaned_jobs(spark: SparkContext) -> None:
    """Cancel jobs whose statements have ended, in a loop.

    An interrupted statement cancels its jobs once. A broadcast or an exchange that its other threads prepare at that
    moment becomes a job a little later, which would occupy its cores until it is done.
    """
    before: set[str] = set()
    with suppress(Py4JNetworkError):  # the JVM is gone, and this process will end
        while True:
            time.sleep(_LOOK_EVERY)
            orphaned = _orphaned_tags(spark)
            # Only when seen twice: the last job of a statement may end a little later than the statement.
            for tag in orphaned & before:
                spark.cancelJobsWithTag(tag)
            before = orphaned


def _orphaned_tags(spark: SparkContext) -> set[str]:
    """Tags of running jobs without a statement; jobs are listed first, as a statement exists before its jobs."""
    java: Any = spark._jvm
    running = java.java.util.List.of(java.org.apache.spark.JobExecutionStatus.RUNNING)
    jobs = _each(spark._jsc.sc().statusStore().jobsList(running))
    tags = {tag for job in jobs for tag in _each(job.jobTags()) if tag.startswith(_OF_A_STATEMENT)}
    if not tags:
        return tags
    statements = java.org.apache.spark.sql.connect.service.SparkConnectService.listActiveExecutions().toOption()
    return tags - {statement.jobTag() for some in _each(statements) for statement in _each(some)}


def _each(collection: Any) -> Iterator[Any]:
    """The elements of a Scala collection."""
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    threading.Thread(target=_cancel_orphaned_jobs, args=[session.sparkContext], daemon=True).start()
    Path(sys.argv[1]).touch()
    sys.stdin.read()  # blocks until the JVM ends, which holds the other end
    os._exit(0)
