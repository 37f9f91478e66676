"""The checkout as the architecture tests read it: its modules as syntax trees, its files as text."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "airflow_refresh_provider"
MADE_BY_TOOLS = {"__pycache__", "build", "dist"}
OF_THE_PROJECT = {".ci", ".github"}


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"), filename=str(module))


def files(folder: Path = ROOT) -> Iterator[Path]:
    """The files of the project: all but what version control, set-up and tools keep in the checkout."""
    for entry in sorted(folder.iterdir()):
        if entry.is_file():
            yield entry
        elif not _is_made(entry):
            yield from files(entry)


def _is_made(folder: Path) -> bool:
    hidden = folder.name.startswith(".") and folder.name not in OF_THE_PROJECT
    return hidden or folder.name in MADE_BY_TOOLS or folder.name.endswith(".egg-info")
