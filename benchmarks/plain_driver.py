"""The driver program of a server that leaves jobs alone whose statements have ended, as those of a pipeline have.

It is run by spark-submit, and does not import this package. Its argument is the file that it creates once Spark is
ready.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

_LOOK_EVERY = 1.0


def main() -> None:
    """Serve until the JVM is gone."""
    session = SparkSession.builder.getOrCreate()
    Path(sys.argv[1]).touch()
    with suppress(Py4JNetworkError):
        while not session.sparkContext._jsc.sc().isStopped():
            time.sleep(_LOOK_EVERY)


if __name__ == "__main__":
    main()
