"""The words of docs/vocabulary.md that code and docs do not use stay away."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, files

NOT_USED = (
    r"told",
    r"tells?",
    r"tellings?",
    r"whoever",
    r"somebody",
    r"anybody",
    r"(?<!\")nobody",
    r"anyone's",
    r"anew",
    r"at it",
    r"let(?:s|ting)?[ _]go",
    r"(?:giv(?:es?|en|ing)|gave)[ _](?:\w+ )?up",
    r"hopeless",
    r"mend(?:s|ed|ing)?",
    r"twins?",
    r"surroundings",
    r"switch(?:ed|es)? (?:it )?(?:on|off)",
    r"tid(?:y|ied|ies)",
    r"upkeep",
    r"unmoved",
    r"inputs? (?:has|have) moved",
    r"(?:at[ _])?rests",
    r"resting",
    r"begun",
    r"he",
    r"his",
    r"him",
    r"himself",
    r"wish(?:es|ed)?",
    r"strangers?",
    r"meddle[ds]?",
    r"shuts?[ _]out",
    r"speechless",
)
FOUND = re.compile(rf"(?<![a-z])(?:{'|'.join(NOT_USED)})(?![a-z])", re.IGNORECASE)
"""An underscore ends a word, so that names are read as the words they are made of."""

PROSE = {".py", ".md", ".yaml", ".cfg", ".java"}
LISTS_THEM = {ROOT / "docs" / "vocabulary.md", Path(__file__)}


def private_words(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for found in FOUND.finditer(line):
            yield f"{path.relative_to(ROOT)}:{number}: {found.group()}"


def test_no_file_uses_a_word_that_the_vocabulary_replaces() -> None:
    prose = [path for path in files() if path.suffix in PROSE and path not in LISTS_THEM]
    assert len(prose) > 300
    assert [found for path in prose for found in private_words(path)] == []


@pytest.mark.parametrize(
    "text", ["lets go of it", "Whoever comes", "is_hopeless", "his lease", "was given up", "rests"]
)
def test_such_a_word_is_found(text: str) -> None:
    assert FOUND.search(text)


@pytest.mark.parametrize("text", ["the rest of it", "this and there", "another", "history", "intells", "recommend"])
def test_words_that_only_contain_one_are_not(text: str) -> None:
    assert not FOUND.search(text)
