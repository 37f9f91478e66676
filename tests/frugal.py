"""Options of Spark servers that live for one run of the tests, on tables of a few rows."""

FRUGAL = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xmn400m"
"""A JVM that soon dies is not worth the better of Java's compilers, nor threads for its garbage."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}
"""Compiling each little query costs more than running it. The demo, README's commands and the classic session do."""
