"""What an application is made of when it was submitted with confs of its own."""

from __future__ import annotations

from airflow_refresh_provider.spark.application import confs

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
EXTENSIONS = "spark.sql.extensions"


def test_an_application_without_confs_gets_what_delta_needs() -> None:
    found = confs({})
    assert found[EXTENSIONS] == DELTA
    assert found["spark.sql.catalog.spark_catalog"] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    assert found["spark.sql.session.timeZone"] == "UTC"


def test_what_was_submitted_takes_precedence() -> None:
    assert confs({"spark.log.level": "INFO"})["spark.log.level"] == "INFO"


def test_deltas_extension_is_added_to_those_of_others_once() -> None:
    assert confs({EXTENSIONS: "org.other.Extension"})[EXTENSIONS] == f"org.other.Extension,{DELTA}"
    assert confs({EXTENSIONS: f"{DELTA},org.other.Extension"})[EXTENSIONS] == f"{DELTA},org.other.Extension"
