"""Ctrl-C and SIGTERM: the same command resumes the run from its last commit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airflow_refresh_provider.cli.signals import ECHO, PATIENCE
from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.places import Places
from tests.cli.conftest import ROOT, Program
from tests.cli.lake import write_open_orders

MANY_CHUNKS = """\
name: open_orders
target: gold/open_orders
query: |
  SELECT o.o_orderkey, o.o_totalprice, c.c_name
  FROM orders o JOIN customer c ON o.o_custkey = c.c_custkey
inputs:
  orders:   {path: silver/orders}
  customer: {path: landing/customer.parquet, format: parquet}
keys: [o_orderkey]
visibility: live
chunking: {chunk_rows: 100}
"""

ORDERS = 500

LEFT_ALONE = """
import threading, time
from airflow_refresh_provider.cli.signals import Interruptions, end
from airflow_refresh_provider.errors import Interrupted
signals = Interruptions()
try:
    with signals:
        threading.Thread(target=threading.Event().wait).start()  # it never ends
        print("ready", flush=True)
        time.sleep(60)
except Interrupted:
    print("interrupted")
    end(signals.exit_code)
"""

EARLY = """
import signal, sys
from airflow_refresh_provider.cli.main import program
class Words(list):
    def __getitem__(self, which):
        if not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGINT)
        return list.__getitem__(self, which)
interrupted = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes background processes ignore it
sys.argv = Words(["airflow-refresh", "list", "--output", "json"])
program()
"""

REPEATED_AT_THE_END = """
import signal
from airflow_refresh_provider.cli.signals import Interruptions, end
from airflow_refresh_provider.errors import Interrupted
signals = Interruptions()
try:
    with signals:
        signal.raise_signal(signal.SIGTERM)
except Interrupted:
    signal.raise_signal(signal.SIGTERM)
    print("interrupted")
    end(signals.exit_code)
"""

STUCK = """
import threading, time
from airflow_refresh_provider.cli.signals import Interruptions
with Interruptions(patience=0.2):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        threading.Event().wait()
"""

STUBBORN = """
import sys, time
from airflow_refresh_provider.cli.signals import Interruptions
from airflow_refresh_provider.errors import Interrupted
with Interruptions():
    for _ in range(2):
        try:
            print("ready", flush=True)
            time.sleep(60)
        except Interrupted:
            pass
"""


def start(*words: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_run_stopped_by_ctrl_c_and_then_by_sigterm_is_finished_by_the_same_command(
    program: Program, spark: str, tmp_path: Path
) -> None:
    write_open_orders(tmp_path, orders=ORDERS)
    (tmp_path / "open_orders.yaml").write_text(MANY_CHUNKS)
    places = ("--control", "control", "--spark", spark, "--output", "json")
    assert program("register", "open_orders.yaml", *places).code == 0
    progress = refreshes(Places(str(tmp_path / "control"), spark, str(tmp_path))).progress

    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        before = progress("open_orders").chunks_done
        run = start("-m", "airflow_refresh_provider.cli.main", "run", "open_orders", *places, folder=tmp_path)
        while progress("open_orders").chunks_done == before:
            assert run.poll() is None, run.communicate()
            time.sleep(0.1)
        run.send_signal(number)
        out, err = run.communicate(timeout=PATIENCE)
        assert (run.returncode, json.loads(out)["error"]["code"]) == (code, "interrupted"), err
        assert "Traceback" not in err
        assert not program("show", "open_orders", *places).json["run"]["live"]

    last = program("run", "open_orders", *places)
    assert last.code == 0, last.out
    assert last.json["resumed"] is True
    assert 1 < last.json["chunks"]["skipped"] < last.json["chunks"]["done"]
    compared = program("run", "open_orders", "--compare-only", *places).json
    assert (compared["equal"], compared["rows"]["unchanged"]) == (True, ORDERS)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_signal_ends_a_command_that_ignores_the_first(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    process = start("-c", STUBBORN, folder=tmp_path)
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        time.sleep(ECHO)
    assert process.wait() == code


def test_repeated_signals_within_a_second_are_one(tmp_path: Path) -> None:
    process = start("-c", LEFT_ALONE, folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
    assert (process.communicate(timeout=PATIENCE), process.returncode) == (("interrupted\n", ""), 143)


def test_a_signal_repeated_while_the_process_ends_does_not_change_the_exit_code(tmp_path: Path) -> None:
    process = start("-c", REPEATED_AT_THE_END, folder=tmp_path)
    assert (process.communicate(timeout=PATIENCE), process.returncode) == (("interrupted\n", ""), 143)


def test_a_command_that_is_stopped_before_it_starts_reports_it(tmp_path: Path) -> None:
    process = start("-c", EARLY, folder=tmp_path)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err, json.loads(out)["error"]["code"]) == (130, "", "interrupted")


@pytest.mark.parametrize(
    ("script", "out", "err"),
    [
        (LEFT_ALONE, "interrupted\n", ""),
        (STUCK, "", "stopped by SIGTERM; the command did not end within 0.2 seconds\n"),
    ],
    ids=["a thread that never ends", "a wait that never ends"],
)
def test_after_a_signal_every_wait_is_limited(script: str, out: str, err: str, tmp_path: Path) -> None:
    process = start("-c", script, folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert (process.communicate(timeout=PATIENCE), process.returncode) == ((out, err), 143)
