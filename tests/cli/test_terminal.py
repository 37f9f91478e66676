"""On a terminal: bars for the stages, tables that fit."""

import os
import pty
import subprocess
import sys

from tests.cli.conftest import ROOT

STAGES = """
import sys, time
from airflow_refresh_provider.cli.bars import Bars
from airflow_refresh_provider.ports.watch import Committed
with Bars(sys.stderr) as bars:
    bars.stage("load")
    bars.stage("merge", rows=3000, chunks=4)
    bars.note("[bold]a note")
    bars.skip(500, 1)
    bars.advance(500)
    for number in (3, 4):
        time.sleep(0.15)
        bars.committed(Committed("a-run", 0, number, 4, "append", 1000, 0.5))
"""


def on_a_terminal(program: str) -> str:
    """What a program writes to a terminal that is 120 columns wide."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "TERM": "xterm"}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # the terminal was closed by its last writer
        pass
    os.close(ours)
    assert process.wait() == 0, seen
    return seen.decode()


ONE_STATEMENT = """
import sys, time
from airflow_refresh_provider.cli.bars import Bars
with Bars(sys.stderr) as bars:
    bars.stage("compare", rows=3000)
    time.sleep(0.3)
    bars.stage("publish")
"""


def test_a_stage_of_one_statement_shows_its_size_but_no_progress() -> None:
    seen = on_a_terminal(ONE_STATEMENT)
    for text in (" 3,000 rows", "3,000/3,000 rows, ", "rows/s"):
        assert text in seen
    assert " 0/3,000 rows" not in seen


def test_a_stage_is_a_bar_with_chunks_rows_speed_and_time() -> None:
    seen = on_a_terminal(STAGES)
    assert "[bold]a note" in seen
    for text in ("load", "merge", "4/4 chunks", "3,000/3,000 rows", "rows/s", "━"):
        assert text in seen


ENDED_EARLY = """
import sys, time
from airflow_refresh_provider.cli.bars import Bars
with Bars(sys.stderr) as bars:
    bars.stage("merge", rows=3000, chunks=4)
    bars.advance(750)
    time.sleep(0.3)
    raise SystemExit(0)
"""


def test_the_bar_of_a_stage_that_fails_stays_where_it_is() -> None:
    seen = on_a_terminal(ENDED_EARLY)
    assert "1/4 chunks" in seen and "750/3,000 rows" in seen
    assert "4/4 chunks" not in seen and "3,000/3,000" not in seen
