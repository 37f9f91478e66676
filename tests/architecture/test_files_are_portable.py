"""No file speaks of the machine it was written on, nor of where that machine fetched its packages."""

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, files

# The brackets keep this file from matching itself.
MACHINE = re.compile(
    r"(?<![\w.}-])/(?:root|work|workspace)/\w"
    r"|index[-]url|find[-]links|trusted[-]host|pypi[.]org/simple|pythonhosted[.]org"
)


def machine_words(path: Path) -> list[str]:
    text = path.read_bytes().decode("utf-8", errors="replace")
    return [f"{path}: {found.group()}" for found in MACHINE.finditer(text)]


def test_no_file_names_a_machine_or_a_registry() -> None:
    written = list(files())
    assert {ROOT / "setup.cfg", ROOT / ".ci" / "run", ROOT / "constraints.txt"} <= set(written)
    assert [found for path in written for found in machine_words(path)] == []


@pytest.mark.parametrize("parts", [("/ro", "ot/x"), ("--index", "-url x"), ("https://py", "pi.org/simple")])
def test_such_words_are_found(tmp_path: Path, parts: tuple[str, str]) -> None:
    path = tmp_path / "note.txt"
    path.write_text(f"see {''.join(parts)}\n")
    assert len(machine_words(path)) == 1


def test_the_lock_pins_every_package_to_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert [line for line in requirements if not re.match(r"[a-z0-9.-]+(\[[a-z,-]+\])?==\S+( ;.*)?$", line)] == []
    assert len(requirements) > 50
