"""What is said when a server has ended that answered before."""

from __future__ import annotations

from pathlib import Path

from airflow_refresh_provider.spark.server.ended import cause
from airflow_refresh_provider.spark.server.process import ServerProcess

SERVER = ServerProcess(pid=7, started=0.0, port=1, memory="512m")
FULL = "WARN x: y\nTerminating due to java.lang.OutOfMemoryError: Java heap space\n"


def test_a_full_heap_is_named_with_its_size_and_how_it_is_made_larger(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FULL)
    error = cause(SERVER, log, "As it was.")
    assert (error.code, error.left) == ("out_of_memory", "As it was.")
    assert error.message.endswith("its heap (512m) was full")
    assert "AIRFLOW_REFRESH_SPARK_MEMORY to more than 512m" in error.next and "resumes" in error.next


def test_the_size_of_a_heap_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FULL)
    error = cause(ServerProcess(pid=7, started=0.0, port=1), log, "")
    assert error.message.endswith("its heap was full") and "_MEMORY to more, or" in error.next


def test_words_of_a_user_in_the_log_are_no_full_heap(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"ERROR Executor: no number: {FULL.splitlines()[1]}\n")
    assert cause(SERVER, log, "").code == "spark_unreachable"


def test_a_server_that_was_killed_is_named_with_its_process_and_log(tmp_path: Path) -> None:
    error = cause(SERVER, tmp_path / "none", "As it was.")
    assert (error.code, error.left) == ("spark_unreachable", "As it was.")
    assert "(process 7) has ended" in error.message and str(tmp_path / "none") in error.next
