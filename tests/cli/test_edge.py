"""Defects, the debug log, a closed pipe, libraries that print to stdout."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.cli.bars import Bars
from airflow_refresh_provider.cli.call import Composition, composed
from airflow_refresh_provider.places import CONTROL_VARIABLE, Places
from airflow_refresh_provider.ports.watch import Watch
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.cli.conftest import ROOT, Program


def defective(_places: Places, _watch: Watch) -> Refreshes:
    """A composition with a defect."""
    raise ZeroDivisionError("division by zero\nand more")


def panicking(places: Places, watch: Watch) -> Refreshes:
    """A composition in which a Rust library panics, which is no Exception."""
    write_deltalake(str(Path(places.control, "a[b")), pa.table({"k": [1]}))
    return composed(places, watch)


def noisy(places: Places, watch: Watch) -> Refreshes:
    """The real composition, with a library that prints and logs."""
    sys.stdout.write("noise\n")
    logging.getLogger("library").warning("a warning")
    return composed(places, watch)


@pytest.fixture
def composition(environment: dict[str, str], tmp_path: Path) -> Composition:
    environment[CONTROL_VARIABLE] = str(tmp_path / "control")
    return defective


def test_an_unexpected_error_is_a_defect_whose_traceback_is_in_the_debug_log(here: Program, tmp_path: Path) -> None:
    ended = here("list")
    log = tmp_path / "state" / "airflow-refresh-provider" / "debug.log"
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ZeroDivisionError: division by zero [defect]\n")
    assert str(log) in ended.err
    assert "Traceback" not in ended.err
    assert "Traceback" in log.read_text()


def test_a_panic_of_a_library_is_a_defect_too(here: Program) -> None:
    ended = here("list", "--output", "json", composition=panicking)
    assert (ended.code, ended.json["error"]["code"]) == (1, "defect")
    assert ended.json["error"]["message"].startswith("PanicException: ")
    assert "Traceback" not in ended.err


def test_the_debug_log_is_beside_the_embedded_servers_files_where_there_are_any(here: Program, tmp_path: Path) -> None:
    (tmp_path / "control" / ".spark").mkdir(parents=True)
    assert here("list", "--output", "json").json["error"]["code"] == "defect"
    assert "Traceback" in (tmp_path / "control" / ".spark" / "debug.log").read_text()


def test_verbose_shows_the_traceback_on_stderr(here: Program) -> None:
    assert "Traceback" in here("list", "--verbose").err


def test_a_log_that_cannot_be_written_does_not_fail_the_command(
    here: Program, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "file").write_text("")
    environment["XDG_STATE_HOME"] = str(tmp_path / "file")
    ended = here("list")
    assert ended.code == 1
    assert "Logging error" not in ended.err


def test_what_libraries_print_goes_to_stderr(here: Program) -> None:
    ended = here("list", "--output", "json", composition=noisy)
    assert ended.json == []
    assert ended.err.startswith("noise\nthere are no control tables in ")


def test_a_closed_pipe_causes_no_traceback(tmp_path: Path) -> None:
    definition = tmp_path / "a.yaml"
    definition.write_text("name: a\ntarget: /t\nfrom: i\ninputs: {i: {path: /i}}\nkeys: [k]\n")
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "airflow_refresh_provider.cli.main", "validate", str(definition)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_without_a_terminal_stages_and_notes_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(sys.stderr) as bars:
        bars.stage("compare")
        bars.note("two at once")
        bars.stage("merge", rows=12_000, chunks=3)
        bars.advance(4_000)
    assert capsys.readouterr().err.splitlines() == ["compare", "two at once", "merge: 12,000 rows, 3 chunks"]
