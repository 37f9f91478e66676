"""The embedded server ends while it works for a refresh: what a person reads, and how the refresh goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.compose import embedded_server, refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.places import EMBEDDED, Places
from airflow_refresh_provider.runner.refreshes import Refreshes

pytestmark = pytest.mark.slow

NAME = "widths"
MEMORY = "512m"
LIMIT = 600.0
KILOBYTES_OF_A_FULL_HEAP = 600_000
WIDE = "concat_ws('', transform(sequence(1, kb), i -> repeat('x', 1024)))"
"""As many kilobytes as the column `kb` says."""


@dataclass(frozen=True)
class Shop:
    """A definition with places of its own, refreshed by `airflow-refresh` with the embedded server."""

    folder: Path

    @property
    def places(self) -> Places:
        return Places(f"{self.folder}/control", EMBEDDED, f"{self.folder}/spark")

    @property
    def refreshes(self) -> Refreshes:
        return refreshes(self.places)

    def write(self, kilobytes: list[int]) -> None:
        """Rows whose values are this wide while they are computed."""
        rows = pa.table({"id": pa.array(range(len(kilobytes)), pa.int64()), "kb": pa.array(kilobytes, pa.int32())})
        write_deltalake(f"{self.folder}/input", rows, mode="overwrite")

    def start(self, *words: str, memory: str = MEMORY) -> subprocess.Popen[str]:
        """`airflow-refresh run`."""
        environment = os.environ | {
            "AIRFLOW_REFRESH_CONTROL": self.places.control,
            "AIRFLOW_REFRESH_SPARK_MEMORY": memory,
            "XDG_STATE_HOME": str(self.folder),
        }
        environment.pop("AIRFLOW_REFRESH_SPARK", None)
        command = [sys.executable, "-m", "airflow_refresh_provider.cli.main", "run", NAME, "--output", "json", *words]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words: str, memory: str = MEMORY) -> Any:
        """What such a run prints as JSON; nothing of Java's is in its output."""
        return printed(self.start(*words, memory=memory))

    def server(self) -> psutil.Process:
        """The JVM of its server."""
        [jvm] = (one for one in psutil.process_iter() if _serves(one, f"{self.folder}/"))
        return jvm


def _serves(process: psutil.Process, folder: str) -> bool:
    try:
        return process.name() == "java" and folder in " ".join(process.cmdline())
    except psutil.Error:
        return False


def printed(process: subprocess.Popen[str]) -> Any:
    """The JSON of a process once it has ended, which names no class and no frame of Java."""
    out, err = process.communicate(timeout=LIMIT)
    assert not any(sign in out + err for sign in ("Traceback", "\tat ", "java.", "SQLSTATE")), out + err
    return json.loads(out)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    made.write([1] * 12)
    made.refreshes.register(
        Definition.build(
            name=NAME,
            target=f"{tmp_path}/target",
            query=f"SELECT id, length({WIDE}) AS width FROM x",
            inputs={"x": {"path": f"{tmp_path}/input"}},
            keys=["id"],
            layout="vnode",
            vnodes=4,
            chunking={"one_commit_up_to": 1, "chunk_rows": 1},
        )
    )
    yield made
    embedded_server(made.places).stop()


def test_a_full_heap_is_named_and_the_run_is_resumed_by_a_server_with_more(shop: Shop) -> None:
    shop.write([1] * 11 + [KILOBYTES_OF_A_FULL_HEAP])
    error = shop.run()["error"]
    assert (error["code"], error["message"]) == (
        "out_of_memory",
        f"the embedded Spark server ran out of memory and has ended: its heap ({MEMORY}) was full",
    )
    assert "The target was not changed" in error["left"]
    assert f"AIRFLOW_REFRESH_SPARK_MEMORY to more than {MEMORY}" in error["next"]
    failed = shop.refreshes.stored(NAME).run
    assert failed is not None
    done = shop.run(memory="3g")
    assert (done["outcome"], done["resumed"], done["run_id"]) == ("succeeded", True, failed.run_id)


def test_a_server_that_is_killed_during_a_merge_is_named_and_the_next_run_goes_on(shop: Shop) -> None:
    shop.refreshes.throttle(NAME, 1)
    run = shop.start()
    until_chunks(shop, run)
    jvm = shop.server()
    jvm.kill()
    error = printed(run)["error"]
    assert (error["code"], error["message"]) == (
        "spark_unreachable",
        f"the embedded Spark server (process {jvm.pid}) has ended",
    )
    assert "resumes from its last commit" in error["next"]
    shop.refreshes.throttle(NAME, 0)
    done = shop.run()
    assert (done["outcome"], done["resumed"]) == ("succeeded", True)
    assert done["chunks"]["skipped"] >= 1


def until_chunks(shop: Shop, run: subprocess.Popen[str]) -> None:
    """Wait until the first chunk is in."""
    limit = time.monotonic() + LIMIT
    while not (shop.refreshes.stored(NAME).run and shop.refreshes.progress(NAME).chunks_done):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < limit
        time.sleep(0.2)
