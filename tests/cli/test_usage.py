import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_refresh_provider import __version__
from tests.cli.conftest import Program

WRONG = [
    (),
    ("refresh",),
    ("spark",),
    ("run",),
    ("register",),
    ("run", "a", "--all"),
    ("due",),
    ("run", "a", "--mode", "quick"),
    ("run", "a", "--workers", "0"),
    ("run", "a", "--workers", "two"),
    ("run", "a", "--forc"),
    ("list", "--output", "yaml"),
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_usage_exits_2_and_names_the_help(words: tuple[str, ...], here: Program) -> None:
    ended = here(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert "[usage]" in ended.err
    assert "--help`" in ended.err.splitlines()[-1]


@pytest.mark.parametrize("output", [("--output", "json"), ("--output=json",)])
def test_wrong_usage_is_json_with_output_json(output: tuple[str, ...], here: Program) -> None:
    ended = here("run", *output)
    assert ended.code == 2
    assert ended.json["error"].keys() == {"code", "message", "left", "next"}
    assert ended.json["error"]["code"] == "usage"
    assert ended.err == ""


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("spark", "--help"), ("spark", "start", "-h")])
def test_help_is_the_result_and_succeeds(words: tuple[str, ...], here: Program) -> None:
    ended = here(*words)
    assert ended.code == 0
    assert ended.out.startswith("usage: airflow-refresh")


def test_the_version_is_the_result(here: Program) -> None:
    ended = here("--version")
    assert (ended.code, ended.out) == (0, f"airflow-refresh {__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--control", "/absent", "--output=json", "list"),
        ("--verbose", "--output", "json", "list", "--control", "/absent"),
        ("--control", "/else", "--output", "table", "list", "--control=/absent", "--output", "json"),
    ],
)
def test_global_options_may_stand_before_the_command(words: tuple[str, ...], here: Program) -> None:
    ended = here(*words)
    assert (ended.code, ended.json) == (0, []), ended.err
    assert "/else" not in ended.err


def test_a_global_option_without_its_value_is_wrong_usage(here: Program) -> None:
    ended = here("--control")
    assert ended.code == 2
    assert "[usage]" in ended.err


def test_a_shell_gets_completions(tmp_path: Path) -> None:
    line = "airflow-refresh run x --on-inter"
    environment = os.environ | {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "found"),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    program = [sys.executable, "-m", "airflow_refresh_provider.cli.main"]
    subprocess.run(program, env=environment, check=False, capture_output=True, timeout=60)
    assert (tmp_path / "found").read_text().strip() == "--on-interrupted"


@pytest.mark.parametrize("words", [("list",), ("show", "a"), ("run", "a"), ("recover",), ("spark", "status")])
def test_a_command_without_a_control_root_exits_2(words: tuple[str, ...], here: Program) -> None:
    ended = here(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "error: no control root is configured [no_control]",
        " left: Nothing was changed.",
        " next: Give --control PATH, or set AIRFLOW_REFRESH_CONTROL.",
    ]


@pytest.mark.parametrize(
    "spark",
    ["yarn", "sc://", "http://host:15002", "sc://127.0.0.1:99999", "sc://h:abc", "sc://h:1/path", "sc://h:1/;foo"],
)
def test_an_invalid_spark_url_is_wrong_usage(spark: str, here: Program, tmp_path: Path) -> None:
    ended = here("run", "a", "--control", str(tmp_path / "control"), "--spark", spark)
    assert ended.code == 2
    assert "[spark_url]" in ended.err
    assert not (tmp_path / "control").exists()


@pytest.mark.parametrize("spark", ["sc://h:1/;token=SECRET", "sc://h:9;token=SECRET", "sc://h:9/?token=SECRET"])
def test_the_token_of_a_spark_is_neither_printed_nor_logged(spark: str, program: Program, tmp_path: Path) -> None:
    ended = program("spark", "status", "--verbose", "--control", "control", AIRFLOW_REFRESH_SPARK=spark)
    assert ended.code == 2
    assert "sc://h:" in ended.err
    assert "SECRET" not in ended.out + ended.err
    assert not any("SECRET" in log.read_text() for log in tmp_path.rglob("*.log"))


def test_the_embedded_server_is_not_started_for_a_remote_spark(here: Program, tmp_path: Path) -> None:
    ended = here("spark", "start", "--control", str(tmp_path), "--spark", "sc://host:1", "--output", "json")
    assert ended.code == 2
    assert ended.json["error"]["code"] == "spark_is_remote"


def test_reading_a_missing_control_root_does_not_create_it(program: Program, tmp_path: Path) -> None:
    for words in (("list",), ("show", "absent"), ("recover",), ("spark", "status")):
        program(*words, "--control", "control")
    assert not (tmp_path / "control").exists()


def test_an_empty_list_is_an_empty_json_list(program: Program) -> None:
    ended = program("list", "--control", "control", "--output", "json")
    assert (ended.code, json.loads(ended.out)) == (0, [])
    assert ended.err.startswith("there are no control tables in ") and ended.err.count("\n") == 1
