from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.spark.server.startup_log import failure


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Caused by: java.net.BindException: Address already in use", "spark_port"),
        ("OpenJDK 64-Bit Server VM warning: insufficient memory for the Java Runtime Environment", "spark_memory"),
        ("java.lang.IllegalArgumentException: System memory 104857600 must be at least 471859200.", "spark_memory"),
        ("java.io.IOException: No space left on device", "disk_full"),
        ('Exception in thread "main" java.lang.NoClassDefFoundError: a/b/C', "spark_start"),
        ("", "spark_start"),
    ],
)
def test_the_cause_of_a_failed_start_is_read_from_the_log(tmp_path: Path, line: str, code: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"WARNING: Using incubator modules\n{line}\n\tat some.Class.method(Class.java:1)\n")

    error = failure(log)

    assert error.code == code
    assert "\tat" not in error.message
    assert error.next


def test_an_unknown_cause_is_reported_by_its_first_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "2026-01-02 03:04:05 WARN Utils: never mind\n"
        "2026-01-02 03:04:05 ERROR SparkContext: java.lang.IllegalStateException: the sky fell\n\tat a.B.c(B.java:1)\n"
    )

    assert failure(log).message.endswith("did not start: the sky fell")


def test_a_log_that_is_not_there_is_no_other_error(tmp_path: Path) -> None:
    assert failure(tmp_path / "none").code == "spark_start"
