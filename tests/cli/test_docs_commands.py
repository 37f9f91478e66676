"""Every command that README and docs show is run, in the order of the page."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.server.launch import MEMORY_VARIABLE
from tests.cli.conftest import ROOT
from tests.cli.lake import write_open_orders
from tests.frugal import FRUGAL

BLOCK = re.compile(r"^```console\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
YAML = re.compile(r"^```yaml\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])


def shown(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines it is said to print."""
    commands: list[tuple[str, list[str]]] = []
    for line in "".join(BLOCK.findall(page.read_text())).splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), []))
        else:
            commands[-1][1].append(line)
    return commands


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A checkout as README assumes it, with the program on the path. Its Spark servers are stopped with the test.

    Other pages assume the same definition in the current folder.
    """
    definition = YAML.findall((ROOT / "README.md").read_text())[0]
    (tmp_path / "dags" / "refreshes").mkdir(parents=True)
    (tmp_path / "dags" / "refreshes" / "my_revenue.yaml").write_text(definition)
    (tmp_path / "my_revenue.yaml").write_text(definition.replace("../../", ""))
    write_open_orders(tmp_path / ".demo")
    program = tmp_path / "bin" / "airflow-refresh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m airflow_refresh_provider.cli.main "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    yield tmp_path
    for control in ("data/control", ".demo/control"):
        subprocess.run([program, "spark", "stop", "--control", control], cwd=tmp_path, env=environment(tmp_path))


def environment(folder: Path) -> dict[str, str]:
    """The environment of a reader's shell, with a JVM that is tuned for short processes."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    java = {MEMORY_VARIABLE: "2g", "JDK_JAVA_OPTIONS": FRUGAL}
    return {**os.environ, **java, "PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    "page",
    [p if p.name == "README.md" else pytest.param(p, marks=pytest.mark.slow) for p in PAGES if shown(p)],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_do_what_it_shows(page: Path, folder: Path) -> None:
    exports: list[str] = []
    for command, expected in shown(page):
        words = command.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), command
            continue
        if words[0] == "docker":  # tests/airflow/test_compose.py looks at what these say to Airflow
            assert words[1:3] in (["compose", "up"], ["compose", "exec"], ["compose", "down"]), command
            continue
        if words[0] == "export":
            exports.append(command)
            continue
        script = "\n".join([*exports, command])
        ended = subprocess.run(
            ["sh", "-c", script], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, (command, ended.stderr)
        printed = [line.split()[0] for line in ended.stdout.splitlines()]
        assert [line.split()[0] for line in expected if line.split()[0] not in printed] == [], (command, ended.stdout)
