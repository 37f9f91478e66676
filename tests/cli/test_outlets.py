"""Results on any stdout: no traceback, and an exit code of 1 if they cannot be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Ended

DEFINITION = """
name: a
target: /lake/日本/é
from: i
inputs: {i: {path: /lake/i}}
keys: [k]
"""


@pytest.fixture
def definition(tmp_path: Path) -> str:
    (tmp_path / "日本.yaml").write_text(DEFINITION, encoding="utf-8")
    return str(tmp_path / "日本.yaml")


def by_shell(line: str, *words: str, **environment: str) -> Ended:
    """The program in a line of a shell, in which it is "$@"."""
    ended = subprocess.run(
        ["/bin/sh", "-c", line, "sh", sys.executable, "-m", "airflow_refresh_provider.cli.main", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", **environment},
        capture_output=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode("latin-1"), ended.stderr.decode("latin-1"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_is_the_same_value_in_an_encoding_that_lacks_its_characters(encoding: str, definition: str) -> None:
    ended = by_shell('"$@"', "validate", definition, "--output", "json", PYTHONIOENCODING=encoding)
    assert (ended.code, ended.err) == (0, "")
    assert [(v["file"], v["target"]) for v in json.loads(ended.out)] == [(definition, "/lake/日本/é")]


@pytest.mark.parametrize(("encoding", "seen"), [("ascii", "/lake/\\u65e5\\u672c/\\xe9"), ("latin-1", "\\u672c/é")])
def test_tables_escape_what_an_encoding_lacks(encoding: str, seen: str, definition: str) -> None:
    ended = by_shell('"$@"', "validate", definition, PYTHONIOENCODING=encoding)
    assert (ended.code, ended.err) == (0, "")
    assert seen in ended.out


def test_an_error_is_json_in_an_encoding_that_lacks_its_characters(tmp_path: Path) -> None:
    missing = str(tmp_path / "né日.yaml")
    ended = by_shell('"$@"', "validate", missing, "--output", "json", PYTHONIOENCODING="ascii")
    assert ended.code == 2
    assert missing in json.loads(ended.out)["error"]["message"]


@pytest.mark.parametrize(
    ("line", "why"), [('"$@" >/dev/full', "No space left on device"), ('"$@" >&-', "stdout is closed")]
)
@pytest.mark.parametrize("words", [("validate",), ("validate", "--output", "json"), ("--help",)])
def test_a_result_that_cannot_be_written_is_reported_in_one_line(
    line: str, why: str, words: tuple[str, ...], definition: str
) -> None:
    file = () if "--help" in words else (definition,)
    ended = by_shell(line, *words, *file)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: the result cannot be written to stdout: {why}\n"


def test_a_removed_current_folder_matters_only_for_relative_paths(tmp_path: Path) -> None:
    line = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir ../gone && "$@"'
    listed = by_shell(line, "list", "--output", "json", "--control", str(tmp_path / "control"))
    assert (listed.code, json.loads(listed.out)) == (0, [])
    refused = by_shell(line, "list", "--control", "control", "--output", "json")
    assert (refused.code, json.loads(refused.out)["error"]["code"]) == (2, "no_folder")
    assert refused.err == ""


def test_closed_streams_are_not_reused_by_files(definition: str) -> None:
    ended = by_shell('"$@" <&- 2>&-', "validate", definition, "--verbose", "--output", "json")
    assert (ended.code, len(json.loads(ended.out))) == (0, 1)
    assert by_shell('"$@" <&- 2>&-', "validate").code == 2
