from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.server.installation import find


def _java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return home


def test_without_java_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(Failed) as error:
        find({"PATH": ""}, tmp_path / "jvm")

    assert error.value.code == "no_java"
    assert "Install Java 17 or 21" in error.value.next


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "25"])
def test_a_java_that_spark_does_not_run_on_is_passed_over(tmp_path: Path, version: str) -> None:
    with pytest.raises(Failed, match="17 or 21"):
        find({"PATH": "", "JAVA_HOME": str(_java(tmp_path / "java", version))}, tmp_path / "jvm")


def test_the_first_java_that_fits_is_taken(tmp_path: Path) -> None:
    old, new = _java(tmp_path / "old", "11.0.2"), _java(tmp_path / "new", "21.0.1")

    assert find({"PATH": str(new / "bin"), "JAVA_HOME": str(old)}, tmp_path / "jvm").java_home == new


def test_settings_for_other_sparks_stay_outside(tmp_path: Path) -> None:
    found = find({"PATH": str(_java(tmp_path / "java", "17") / "bin")}, tmp_path / "jvm")

    environment = found.environment({"SPARK_HOME": "/other", "PYSPARK_PYTHON": "x", "LANG": "C"}, tmp_path)

    assert environment["SPARK_HOME"] == str(found.spark_home)
    assert environment["LANG"] == "C"
    assert "PYSPARK_PYTHON" not in environment
