from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.spark.server.jars import DELTA
from airflow_refresh_provider.spark.server.launch import COLLECTOR, ROOM, Home, ServerOptions, command


def test_memory_comes_from_the_environment_and_is_four_gigabytes_otherwise() -> None:
    assert ServerOptions.of({"AIRFLOW_REFRESH_SPARK_MEMORY": "900m"}).memory == "900m"
    assert ServerOptions.of({}).memory == "4g"


@pytest.mark.parametrize("variable", ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"])
def test_a_collector_that_the_environment_chooses_is_the_only_one(variable: str) -> None:
    assert ServerOptions.of({}).java_options == " ".join((COLLECTOR, "-Xms4g", *ROOM))
    assert ServerOptions.of({variable: "-Xss2m -XX:+UseG1GC"}).java_options == " ".join(("-Xms4g", *ROOM))


@pytest.mark.parametrize("variable", ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"])
def test_room_that_the_environment_gives_java_is_left_as_it_is(variable: str) -> None:
    options = ServerOptions.of({variable: "-XX:ReservedCodeCacheSize=1g"}).java_options
    assert "ReservedCodeCacheSize" not in options
    assert "-XX:MetaspaceSize=256m" in options


@pytest.mark.parametrize("memory", ["lots", "4", "-1g", "4g; rm", "0m"])
def test_an_amount_of_memory_that_is_none_is_refused(memory: str) -> None:
    with pytest.raises(Invalid, match="not an amount of memory"):
        ServerOptions.of({"AIRFLOW_REFRESH_SPARK_MEMORY": memory})


def test_extra_confs_win_and_extra_jars_come_first() -> None:
    options = ServerOptions(extra_conf={"spark.sql.shuffle.partitions": "3"}, extra_jars=(Path("/mine.jar"),))

    line = command("submit", Home(Path("/home")), 1, [Path("/delta.jar")], options)

    assert "spark.sql.shuffle.partitions=3" in line
    assert "spark.sql.shuffle.partitions=8" not in line
    assert "spark.driver.extraClassPath=/mine.jar:/delta.jar" in line


def test_the_jar_is_of_the_version_that_is_installed() -> None:
    assert version("delta-spark") == DELTA
