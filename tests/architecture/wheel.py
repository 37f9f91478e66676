"""The package as it is installed: a wheel, built from no more of the checkout than Docker is given."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def build(folder: Path) -> Path:
    """Build it below a folder."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    kept = [line.removeprefix("!") for line in lines if line.startswith("!")]
    left = shutil.ignore_patterns(*(line.removeprefix("**/") for line in lines if line.startswith("**/")))
    context = folder / "context"
    context.mkdir()
    for name in kept:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, context / name, ignore=left)
        else:
            shutil.copy(ROOT / name, context / name)
    words: list[str | Path] = ["wheel", "--no-deps", "--wheel-dir", folder, context]
    built = subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert built.returncode == 0, built.stderr
    [wheel] = folder.glob("*.whl")
    return wheel
