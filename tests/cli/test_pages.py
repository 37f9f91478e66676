"""The pages in docs/ agree with the code."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from airflow_refresh_provider import errors
from airflow_refresh_provider.core.run.admin_results import RecoveryOutcome, RegistrationOutcome
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.status import RefreshStatus
from docs.generate import pages
from tests.cli.conftest import ROOT

DOCS = ROOT / "docs"
PACKAGE = ROOT / "airflow_refresh_provider"
RAISED = re.compile(r"\b(Invalid|Refused|Failed|Retry|Conflict|Lost|Defect|Interrupted)\(\s*\"([a-z_]+)\"")
NAMED = re.compile(r"(?:^_CODE = |_bad_target\(\s*)\"([a-z_]+)\"", flags=re.MULTILINE)
"""Codes that are passed to a function that raises."""
LISTED = re.compile(r"^\| `([a-z_]+)` \| ([0-9, ]+) \|", flags=re.MULTILINE)


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_the_generated_parts_of_a_page_are_up_to_date(path: Path) -> None:
    assert path.read_text() == pages()[path], "update it: python -m docs.generate"


def raised() -> set[tuple[str, str]]:
    """Every code in the package with the exit code of its class, without the fakes."""
    texts = [file.read_text() for file in PACKAGE.rglob("*.py") if not file.name.startswith("memory_")]
    return {(code, str(getattr(errors, kind).exit_code)) for text in texts for kind, code in RAISED.findall(text)}


def test_every_error_code_of_the_package_is_on_the_errors_page_with_its_exit_code() -> None:
    listed = {
        (code, number)
        for code, exits in LISTED.findall((DOCS / "errors.md").read_text())
        for number in exits.split(", ")
    }
    assert len(raised()) > 50
    assert raised() - listed == set()


def test_codes_that_are_passed_on_are_on_the_errors_page() -> None:
    passed_on = {code for file in PACKAGE.rglob("*.py") for code in NAMED.findall(file.read_text())}
    assert "nondeterministic_query" in passed_on
    assert passed_on - {code for code, _ in LISTED.findall((DOCS / "errors.md").read_text())} == set()


def test_the_errors_page_lists_no_code_that_does_not_exist() -> None:
    everything = "".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    listed = [code for code, _ in LISTED.findall((DOCS / "errors.md").read_text())]
    assert [code for code in listed if f'"{code}"' not in everything] == []
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("kind", "of"),
    [
        (State, "`state` | a definition"),
        (RefreshStatus, "`status` | a definition"),
        (Outcome, "`outcome` | a command"),
        (RegistrationOutcome, "`outcome` | of `register`"),
        (RecoveryOutcome, "`outcome` | of `recover`"),
    ],
)
def test_the_vocabulary_lists_the_status_words(kind: type[StrEnum], of: str) -> None:
    (line,) = [line for line in (DOCS / "vocabulary.md").read_text().splitlines() if line.startswith(f"| {of}")]
    values = line.split("|")[3]
    assert set(re.findall(r"`(\w+)`", values)) == {word.value for word in kind}


@pytest.mark.parametrize("path", sorted([ROOT / "README.md", *DOCS.glob("*.md")]), ids=lambda path: path.name)
def test_links_between_pages_exist(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / link).exists(), link
