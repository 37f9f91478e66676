"""The driver of an embedded server: a session that stands for its Spark, which serves Connect beside it as a plugin.

The server program that comes with Spark insists on classes of its own for every session, and so compiles for each of
them anew what it has compiled for others before. Here the confs decide.

It is run by spark-submit, in a process beside the JVM that ends with it. It knows nothing of this package. Its argument
is the file that it makes once Spark is complete.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.getOrCreate()
    Path(sys.argv[1]).touch()
    sys.stdin.read()  # nothing is ever written to it: it ends with the JVM, which holds its other end
    os._exit(0)
