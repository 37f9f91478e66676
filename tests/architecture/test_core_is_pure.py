"""Core decides; it does not look. Everything a decision needs is handed to it."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, modules, tree

LIBRARIES = {"airflow_refresh_provider", "croniter", "pydantic", "pydantic_core", "sqlglot"}
LOOKS_AT_THE_WORLD = {
    "asyncio", "getpass", "glob", "io", "locale", "logging", "multiprocessing", "os", "pathlib", "platform", "random",
    "secrets", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid", "zoneinfo",
}  # fmt: skip
BUILTINS = {"open", "input", "print"}
CLOCKS = {"now", "utcnow", "today"}


def impurities(module: Path) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        for found in _looks(node):
            yield f"{module}:{getattr(node, 'lineno', 0)} {found}"


def _looks(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names if _forbidden(name.name))
        case ast.ImportFrom(module=str(name)) if _forbidden(name):
            yield name
        case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date" as owner), attr=name)) if name in CLOCKS:
            yield f"{owner}.{name}"


def _forbidden(name: str) -> bool:
    top = name.partition(".")[0]
    known = top in LIBRARIES or top in sys.stdlib_module_names
    return top in LOOKS_AT_THE_WORLD or not known


def test_core_reads_no_clock_no_environment_and_no_file() -> None:
    core = modules(PACKAGE / "core")
    assert len(core) > 10
    assert [found for module in core for found in impurities(module)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os\nhome = os.environ['HOME']", "os"),
        ("from time import time", "time"),
        ("import os.path", "os.path"),
        ("from uuid import uuid4", "uuid"),
        ("import rich.table", "rich.table"),
        ("from datetime import UTC, datetime\nmoment = datetime.now(UTC)", "datetime.now"),
        ("from datetime import date\nday = date.today()", "date.today"),
        ("text = open('x').read()", "open"),
    ],
)
def test_a_look_at_the_world_is_found(tmp_path: Path, text: str, found: str) -> None:
    module = tmp_path / "curious.py"
    module.write_text(text)
    assert [line.rsplit(" ", 1)[1] for line in impurities(module)] == [found]
