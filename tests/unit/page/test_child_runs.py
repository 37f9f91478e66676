"""Refreshes that are started from the page of this machine: processes of the command line, ended with the page."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.page.child_runs import ChildRuns
from airflow_refresh_provider.page.ports import Visitor
from airflow_refresh_provider.places import Places

ME = Visitor(name="me", token=None)
PLACES = Places(control="/control", spark="sc://spark;token=secret", spark_home="/spark")
WAITS = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(143)); print(flush=True); time.sleep(60)"


def runs(script: str, *words: str) -> ChildRuns:
    return ChildRuns(PLACES, os.environ, (sys.executable, "-c", script, *words))


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_refresh_is_a_process_with_the_options_of_the_form_and_the_places_of_the_page(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = (
        "import json, os, pathlib, sys; "
        "pathlib.Path(sys.argv[1]).write_text(json.dumps([sys.argv[2:], os.environ['AIRFLOW_REFRESH_CONTROL'], "
        "os.environ['AIRFLOW_REFRESH_SPARK']]))"
    )
    with runs(script, str(said)) as some:
        started = some.start(ME, "orders", Request(mode=Mode.FULL, force=True))
        assert "which ends with this page" in started.started
        until(lambda: said.exists() and said.read_text())
    words, control, spark = json.loads(said.read_text())
    assert words == ["orders", "--mode", "full", "--force", "--output", "json"]
    assert (control, spark) == (PLACES.control, PLACES.spark)


def test_a_definition_has_one_process_of_a_page_and_all_end_with_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"import pathlib; {WAITS.replace('print(flush=True)', f'pathlib.Path({str(ready)!r}).touch()')}"
    with runs(script) as some:
        pid = int(some.start(ME, "orders", Request()).started.split()[1].strip(","))
        until(ready.exists)
        with pytest.raises(Refused, match=f"process {pid}") as refused:
            some.start(ME, "orders", Request())
        assert refused.value.code == "already_running"
        assert some.failure("orders") is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_run_of_a_process_of_this_page_can_be_taken_over_and_both_end_with_the_page(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"import pathlib; {WAITS.replace('print(flush=True)', f'pathlib.Path({str(ready)!r}).touch()')}"
    with runs(script) as some:
        pids = []
        for request in (Request(), Request(take_over=True, only_run="a-run")):
            pids.append(int(some.start(ME, "orders", request).started.split()[1].strip(",")))
            until(ready.exists)
            ready.unlink()
        for pid in pids:
            os.kill(pid, 0)  # both are running
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_error_that_the_process_prints_is_shown_until_the_next_start() -> None:
    error = {"code": "suspended", "message": "orders is suspended", "left": "as it was", "next": "resume it"}
    with runs(f"import sys; print({json.dumps({'error': error})!r}); sys.exit(3)") as some:
        some.start(ME, "orders", Request())
        until(lambda: some.failure("orders"))
        found = some.failure("orders")
        assert found is not None and found.model_dump() == error
        some.start(ME, "orders", Request())


def test_a_process_that_ends_without_a_word_says_its_exit_code() -> None:
    with runs("import sys; sys.exit(9)") as some:
        some.start(ME, "orders", Request())
        until(lambda: some.failure("orders"))
        found = some.failure("orders")
        assert found is not None and (found.code, "exit code 9" in found.message) == ("child_ended", True)


def test_a_process_that_ends_well_has_no_error_and_makes_room_for_the_next() -> None:
    with runs("pass") as some:
        some.start(ME, "orders", Request())

        def ended() -> bool:
            assert some.failure("orders") is None
            try:
                return bool(some.start(ME, "orders", Request()))
            except Refused:
                return False

        until(ended)


def test_a_program_that_cannot_be_started_is_an_error() -> None:
    with ChildRuns(PLACES, os.environ, ("/nowhere/python",)) as some, pytest.raises(Failed) as failed:
        some.start(ME, "orders", Request())
    assert failed.value.code == "not_started"


def test_what_waits_is_followed_by_one_process_which_takes_the_queue_of_the_definition(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"import pathlib, sys; pathlib.Path({str(said)!r}).write_text(' '.join(sys.argv[1:])); {WAITS}"
    with runs(script) as some:
        first = some.follow("orders")
        until(lambda: said.exists() and said.read_text())
        assert said.read_text() == "orders --queued --output json"
        assert some.follow("orders") == first and "takes it then" in first


def test_a_refresh_that_this_page_has_started_goes_on_with_the_queue_itself() -> None:
    with runs(WAITS) as some:
        pid = some.start(ME, "orders", Request()).started.split()[1].strip(",")
        assert some.follow("orders").startswith(f"process {pid},")


def test_an_error_of_what_was_queued_is_shown_too() -> None:
    error = {"code": "suspended", "message": "orders is suspended", "left": "as it was", "next": "resume it"}
    step = {"name": "orders", "outcome": "refused", "error": error}
    printed = json.dumps({"outcome": "refused", "refreshes": [step]})
    with runs(f"import sys; print({printed!r}); sys.exit(3)") as some:
        some.follow("orders")
        until(lambda: some.failure("orders"))
        found = some.failure("orders")
        assert found is not None and found.model_dump() == error
