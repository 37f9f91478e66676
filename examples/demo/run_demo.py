"""A refresh that is killed half way and goes on: `make demo`.

TPC-H orders and customers are joined into a table of open orders. After the first refresh one percent of the inputs
changes; the second refresh loses its Spark server and its own process to SIGKILL in the middle, and is run again. In
the end everything that was promised is checked without the tool. DEMO_SCALE is the scale factor of TPC-H.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.console import Console
from rich.table import Table

from examples.demo import data, evidence
from examples.demo.tool import Tool

CHECKOUT = Path(__file__).parents[2]
NAME = "open_orders"
CHUNKS = 12
"""About how many chunks the second refresh is cut into."""

KILL_AFTER = 4
"""How many of them are done when the kill comes."""

console = Console(width=None if sys.stdout.isatty() else 110)


def main() -> int:
    """Run the story; the exit code says whether every promise was kept."""
    lake = data.Lake(CHECKOUT / ".demo")
    shutil.rmtree(lake.root, ignore_errors=True)
    lake.root.mkdir()
    tool = Tool(lake.root / "control", console)
    try:
        return _story(lake, tool)
    finally:
        tool.quietly("spark", "stop")


def _story(lake: data.Lake, tool: Tool) -> int:
    _chapter("Data: TPC-H orders as a Delta table, customers as a parquet file")
    data.generate(lake, os.environ.get("DEMO_SCALE", "0.1"))
    with data.spark_at(tool("spark", "start")["url"]) as spark:
        data.make_orders(lake, spark)

    _chapter("First refresh")
    lake.definition.write_text(data.DEFINITION)
    tool("register", str(lake.definition))
    first = tool("run", NAME)
    loaded, seconds = first["rows"]["inserted"], first["seconds"]
    _say(f"{loaded:,} rows in {seconds:.0f} s, published as version {first['published_version']}")

    _chapter("One percent of the inputs changes")
    with data.spark_at(_url(tool)) as spark:
        data.change_one_percent(lake, spark)
        expected = evidence.differing(spark, lake.result_now(), lake.result_before())
    _say(f"{expected:,} rows of the query's result are new or different; chunks get small, so that there is a middle")
    lake.definition.write_text(data.DEFINITION + data.SMALL_CHUNKS % (expected // CHUNKS))
    tool("register", str(lake.definition))

    _chapter("Second refresh, killed in the middle")
    before = evidence.newest_version(lake.target)
    done_at_kill = _refresh_and_kill(tool)
    again = tool("run", NAME)

    _chapter("What came of it")
    with data.spark_at(_url(tool)) as spark:
        table = f"SELECT * FROM delta.`{lake.target}` VERSION AS OF {again['published_version']}"
        missing = evidence.differing(spark, lake.result_now(), table)
        surplus = evidence.differing(spark, table, lake.result_now())
    return _verdict(first, again, done_at_kill, expected, missing + surplus, evidence.written(lake.target, before))


def _refresh_and_kill(tool: Tool) -> int:
    """Start a refresh, and kill its server and its process after some chunks. Returns how many were done by then."""
    client = tool.start("run", NAME)
    while (done := tool.quietly("progress", NAME)["chunks_done"]) < KILL_AFTER:
        if client.poll() is not None:
            sys.exit("demo: the refresh ended before it could be killed")
        time.sleep(0.2)
    server = tool.quietly("spark", "status")["pid"]
    os.kill(server, signal.SIGKILL)
    client.kill()
    client.wait()
    _say(f"[red]SIGKILL[/red] to the Spark server ({server}) and to the refresh ({client.pid}) after {done} chunks")
    return int(done)


def _verdict(
    first: dict[str, Any],
    again: dict[str, Any],
    done_at_kill: int,
    expected: int,
    differences: int,
    log: evidence.Written,
) -> int:
    """Show what was promised beside what was found."""
    rows, chunks = again["rows"], again["chunks"]
    gone = rows["updated"] + rows["deleted"]
    total = first["rows"]["inserted"] + rows["inserted"] - rows["deleted"]
    promises = [
        ("the second run went on with the first", f"resumed: {again['resumed']}", again["resumed"]),
        (
            "chunks that were in were skipped",
            f"{chunks['skipped']} of {chunks['done']} skipped, {chunks['done'] - chunks['skipped']} applied",
            done_at_kill <= chunks["skipped"] < chunks["done"],
        ),
        (
            "exactly the changes were applied",
            f"{rows['inserted']} inserted, {rows['updated']} updated, {rows['deleted']} deleted",
            rows["inserted"] + rows["updated"] == expected and rows["deleted"] > 0,
        ),
        (
            "only changed rows were written",
            f"{log.into_new_files} rows into new files, {log.marked_gone} marked gone, of {total:,}",
            (log.into_new_files, log.marked_gone) == (expected, gone),
        ),
        ("the target equals the query, row for row", f"{differences} rows differ", differences == 0),
    ]
    table = Table("promised", "found", "kept")
    for promised, found, kept in promises:
        table.add_row(promised, found, "[green]yes[/green]" if kept else "[red]NO[/red]")
    console.print(table)
    return 0 if all(kept for _, _, kept in promises) else 1


def _url(tool: Tool) -> str:
    return str(tool.quietly("spark", "status")["url"])


def _chapter(title: str) -> None:
    console.rule(f"[bold]{title}", align="left")


def _say(text: str) -> None:
    console.print(text, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
