"""The test files that a change can reach: `make affected` runs them.

python -m tests.affected      prints them for all that differs from where this branch left origin/main
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).parents[1]
PACKAGE = "airflow_refresh_provider"
PROGRAMS = {
    "tests/airflow": (f"{PACKAGE}.dag_factory", f"{PACKAGE}.airflow_cli", "examples", "dags"),
    "tests/cases": (f"{PACKAGE}.spark.driver.serve",),
    "tests/cli": (f"{PACKAGE}.cli.main", "README.md", "docs"),
    "tests/crash": (f"{PACKAGE}.cli.main",),
    "tests/engine": (f"{PACKAGE}.spark.driver.serve",),
    "tests/running": (f"{PACKAGE}.dag_factory", f"{PACKAGE}.cli.main", "examples"),
    "tests/unit/examples": ("examples", "dags"),
    "tests/unit/benchmarks": ("benchmarks",),
    "tests/unit/definition": ("docs",),
}
"""What tests of a folder start as a process or read as a file: no import of theirs shows it."""

DATA = {
    f"{PACKAGE}/page/static/": f"{PACKAGE}.page.files",
    f"{PACKAGE}/page/templates/": f"{PACKAGE}.page.templating",
}
"""Which module of the package reads the files of a folder."""

ALWAYS = "tests/architecture"
"""It looks at every file of the checkout."""

EVERYTHING = {"Makefile", "pyproject.toml", "setup.cfg", "constraints.txt", "tests/conftest.py", "tests/sharing.py"}
"""Files that decide how all tests run."""


def affected(changed: Iterable[str], package: Mapping[str, set[str]], tests: Mapping[str, set[str]]) -> list[str]:
    """The test files to run, given the changed files.

    `package` maps each module of the package to those that import it, directly or not; `tests` maps each Python file of
    the tests to the modules that it imports.
    """
    paths = set(changed)
    if paths & EVERYTHING:
        return ["tests"]
    reached = _changed_things(paths)
    for module in list(reached):
        reached |= package.get(module, set())
    while more := {_module(file) for file, imports in tests.items() if _is_reached(file, imports, reached)} - reached:
        reached |= more
    found = {file for file in tests if PurePosixPath(file).name.startswith("test_") and _module(file) in reached}
    return sorted({file for file in found if not file.startswith(f"{ALWAYS}/")} | ({ALWAYS} if paths else set()))


def _changed_things(paths: Iterable[str]) -> set[str]:
    """Modules, and folders outside the package by their first name; what supports tests stands for its folder too."""
    things = set()
    for path in paths:
        things |= {_module(path), path, path.partition("/")[0]} - {"tests", PACKAGE}
        things |= {module for folder, module in DATA.items() if path.startswith(folder)}
        if path.startswith("tests/") and not PurePosixPath(path).name.startswith("test_"):
            things.add(str(PurePosixPath(path).parent))
    return things


def _is_reached(file: str, imports: set[str], reached: set[str]) -> bool:
    folders = {str(folder) for folder in PurePosixPath(file).parents} - {"tests", "."}
    programs = {thing for folder in folders for thing in PROGRAMS.get(folder, ())}
    return bool((imports | programs | folders) & reached)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def importers() -> dict[str, set[str]]:
    """Each module of the package, and all that import it, however indirectly."""
    graph = grimp.build_graph(PACKAGE, cache_dir=str(ROOT / ".cache" / "import-linter"))
    return {module: graph.find_downstream_modules(module) for module in graph.modules}


def tests_and_imports() -> dict[str, set[str]]:
    """Each Python file of the tests, and the names that it imports."""
    return {str(file.relative_to(ROOT)): imported(file.read_text("utf-8")) for file in (ROOT / "tests").rglob("*.py")}


def imported(source: str) -> set[str]:
    """The modules that a source imports; of `from a import b` both `a` and `a.b`, as b may be a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names - {"tests", PACKAGE}


def changes() -> list[str]:
    """Files that differ from the commit at which this branch left origin/main, and new ones."""
    base = _git("merge-base", "HEAD", "origin/main")[0]
    return [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    sys.stdout.write("\n".join(affected(changes(), importers(), tests_and_imports())) + "\n")
