"""A real browser for tests, the checks of axe, and pictures."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
AXE = "4.14.1"
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium."""
    found = subprocess.run([ROOT / "tools" / "chromium.sh"], check=True, capture_output=True, text=True).stdout.strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The checks of axe, as a script."""
    kept = ROOT / ".cache" / "tests" / f"axe-{AXE}.js"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", f"axe-core@{AXE}"], cwd=kept.parent, check=True, capture_output=True)
        packed = kept.parent / f"axe-core-{AXE}.tgz"
        with tarfile.open(packed) as files:
            script = files.extractfile("package/axe.min.js")
            assert script is not None
            kept.write_bytes(script.read())
        packed.unlink()
    return kept.read_text(encoding="utf-8")


def serious(page: Page, axe: str) -> list[Any]:
    """What axe finds that keeps people from using a page."""
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    return [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def keep(page: Page, name: str) -> None:
    """A picture of what a test sees, where `PAGE_PICTURES` names a folder for it."""
    if folder := os.environ.get("PAGE_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def picture(page: Page, name: str) -> bytes:
    """A picture of what is in the window, for the docs, as PNG; written where `DOCS_PICTURES` names a folder for it."""
    taken = page.screenshot(animations="disabled")
    if folder := os.environ.get("DOCS_PICTURES"):
        (Path(folder) / f"{name}.png").write_bytes(taken)
    return taken
