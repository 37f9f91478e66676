"""A Spark Connect server as people start one: on a port, with the confs that are given, without Delta of its own."""

from __future__ import annotations

import sys
import threading

from pyspark.sql import SparkSession

if __name__ == "__main__":
    port, *confs = sys.argv[1:]
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master("local[1]").config("spark.connect.grpc.binding.port", port)
    builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    for conf in confs:
        builder = builder.config(*conf.split("=", 1))
    builder.config("spark.ui.enabled", "false").getOrCreate()
    threading.Event().wait()
