import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program

WRONG = [
    (),
    ("refresh",),
    ("spark",),
    ("run",),
    ("register",),
    ("run", "a", "b"),
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
