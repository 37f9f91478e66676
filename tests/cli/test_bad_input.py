"""Bad input to the real program: an error in three parts, its exit code, and no partial changes."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.cli.conftest import ROOT, Ended, Program
from tests.cli.lake import write_open_orders

DEFINITION = """\
name: open_orders
target: gold/open_orders
query: SELECT o_orderkey, o_totalprice FROM orders WHERE o_orderstatus = 'O'
inputs:
  orders: {path: silver/orders}
keys: [o_orderkey]
"""


def error_of(ended: Ended) -> dict[str, Any]:
    """The error on stdout, which must have all of its parts."""
    error: dict[str, Any] = ended.json["error"]
    assert set(error) == {"code", "message", "left", "next"}
    assert all(error.values())
    assert "Traceback" not in ended.err
    return error


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (DEFINITION.replace("keys: [o_orderkey]", "keys: [o_orderkey"), "line"),
        (DEFINITION + "chunks: 3\n", "chunks"),
        (DEFINITION + "max_delete_ratio: much\n", "max_delete_ratio"),
        (DEFINITION.replace("keys: [o_orderkey]\n", ""), "keys"),
        (DEFINITION.replace("keys: [o_orderkey]", "keys: []"), "keys"),
        (DEFINITION.replace("name: open_orders", "name: 'a b; DROP TABLE x'"), "name"),
        (DEFINITION.replace("SELECT o_orderkey", "SELEC o_orderkey"), "line 1, column"),
        (DEFINITION.replace("o_totalprice FROM", "rand() FROM"), "rand"),
        (DEFINITION.replace("FROM orders", "FROM ordres"), "ordres"),
        (DEFINITION.replace("{path: silver/orders}", "{path: silver/orders, format: xml}"), "format"),
        ("- a list", "open_orders.yaml"),
        ("", "open_orders.yaml"),
    ],
)
def test_an_invalid_definition_is_reported_with_file_and_position_and_registers_nothing(
    wrong: str, said: str, program: Program, tmp_path: Path
) -> None:
    (tmp_path / "open_orders.yaml").write_text(wrong)
    for command in ("validate", "register"):
        ended = program(command, "open_orders.yaml", "--control", "control", "--output", "json")
        assert ended.code == 2
        assert said in error_of(ended)["message"]
    assert not (tmp_path / "control").exists()


def test_a_missing_input_is_reported_with_name_and_path(program: Program, tmp_path: Path) -> None:
    (tmp_path / "open_orders.yaml").write_text(DEFINITION)
    ended = program("register", "open_orders.yaml", "--control", "control", "--output", "json")
    error = error_of(ended)
    assert (ended.code, error["code"]) == (2, "input_missing")
    assert "orders" in error["message"]
    assert str(tmp_path / "silver" / "orders") in error["message"]


@pytest.fixture
def registered(program: Program, tmp_path: Path) -> Path:
    write_open_orders(tmp_path)
    (tmp_path / "open_orders.yaml").write_text(DEFINITION)
    assert program("register", "open_orders.yaml", "--control", "control").code == 0
    return tmp_path


@pytest.mark.usefixtures("registered")
def test_a_spark_that_cannot_be_reached_fails_and_leaves_the_run_to_be_resumed(program: Program) -> None:
    ended = program("run", "open_orders", "--control", "control", "--spark", "sc://127.0.0.1:1", "--output", "json")
    assert (ended.code, error_of(ended)["code"]) == (1, "spark_unreachable")
    shown = program("show", "open_orders", "--control", "control", "--output", "json").json
    assert not (shown["run"] or {"live": False})["live"]


def test_control_tables_of_a_newer_format_are_left_alone(registered: Path, program: Program) -> None:
    mark = registered / "control" / "control.json"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "format": 999}))
    for words in (("list",), ("run", "open_orders"), ("register", "open_orders.yaml")):
        ended = program(*words, "--control", "control", "--output", "json")
        assert (ended.code, error_of(ended)["code"]) == (2, "newer_control_format")


def test_control_tables_that_may_only_be_read_can_be_read(registered: Path) -> None:
    def read_only(*words: str) -> Ended:
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "airflow_refresh_provider.cli.main",
                *words,
                "--control",
                "control",
                "--output",
                "json",
            ],
            cwd=registered,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            preexec_fn=_without_power_over_files,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    folders = [registered / "control", *(p for p in (registered / "control").rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert [d["name"] for d in read_only("list").json] == ["open_orders"]
        ended = read_only("run", "open_orders")
        assert (ended.code, error_of(ended)["code"]) == (1, "storage_denied")
        assert str(registered / "control") in error_of(ended)["message"]
    finally:
        for folder in folders:
            folder.chmod(0o755)


def _without_power_over_files() -> None:
    """Let file modes hold for root too, by dropping the capabilities that override them."""
    drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
    for capability in (dac_override, dac_read_search):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


def test_a_query_that_spark_rejects_is_reported_with_position(registered: Path, program: Program, spark: str) -> None:
    (registered / "open_orders.yaml").write_text(DEFINITION.replace("o_totalprice FROM", "o_total FROM"))
    program("register", "open_orders.yaml", "--control", "control")
    ended = program("run", "open_orders", "--control", "control", "--spark", spark, "--output", "json")
    error = error_of(ended)
    assert (ended.code, error["code"]) == (2, "query_invalid")
    assert "o_total" in error["message"]
    assert "line 1" in error["message"]
    assert not (registered / "gold").exists()


def test_a_value_that_cannot_be_computed_is_corrected_and_read_again_by_the_next_run(
    here: Program, spark: str, tmp_path: Path
) -> None:
    text = KEPT.replace("v FROM", "CAST(v AS INT) AS v FROM").replace("layout: vnode\nvnodes: 4\n", "")
    (tmp_path / "kept.yaml").write_text(text)
    places = ("--control", str(tmp_path / "control"), "--spark", spark, "--output", "json")
    for value in ("x", "y", "2"):
        rows = pa.table({"k": pa.array([1, 2], pa.int64()), "v": ["1", value]})
        write_deltalake(str(tmp_path / "silver" / "rows"), rows, mode="overwrite")
        here("register", str(tmp_path / "kept.yaml"), *places)
        ended = here("run", "kept", *places)
        if value == "2":
            assert ended.json["rows"]["inserted"] == 2, ended.out
        else:
            error = error_of(ended)
            assert (ended.code, error["code"]) == (1, "bad_value")
            assert f"'{value}'" in error["message"]
            assert "try_cast" in error["next"]
    outcomes = [run["outcome"] for run in here("history", "kept", *places[:2], "--output", "json").json]
    assert outcomes == ["succeeded", "abandoned", "abandoned"]


KEPT = """\
name: kept
target: gold/kept
query: SELECT k, v FROM rows
inputs:
  rows: {path: silver/rows}
keys: [k]
layout: vnode
vnodes: 4
"""
ROWS: list[tuple[int | None, str]] = [(k, f"value {k}") for k in range(20)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests of a refreshed target, as none of them may change it."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture
def spoiled(lake: Path, here: Program, spark: str) -> Callable[..., Ended]:
    """Registers a definition over an input that has these rows, and runs it on a target that was refreshed before."""
    places = ("--control", str(lake / "control"), "--spark", spark, "--output", "json")

    def run(text: str, rows: list[tuple[int | None, str]] = ROWS) -> Ended:
        columns = {"k": pa.array([k for k, _ in rows], pa.int64()), "v": pa.array([v for _, v in rows])}
        write_deltalake(str(lake / "silver" / "rows"), pa.table(columns), mode="overwrite")
        (lake / "kept.yaml").write_text(text)
        registered = here("register", str(lake / "kept.yaml"), *places)
        return registered if registered.code else here("run", "kept", *places)

    if not (lake / "gold" / "kept").exists():
        assert run(KEPT).json["rows"]["inserted"] == len(ROWS)
    return run


@pytest.mark.parametrize(
    ("text", "rows", "code", "said"),
    [
        (KEPT, [*ROWS, (None, "a"), (None, "b")], (1, "null_key"), "has 2 rows with NULL in the key"),
        (KEPT, [*ROWS, *ROWS[:5]], (1, "duplicate_key"), "has more than one row for 5 keys"),
        (KEPT.replace("k, v FROM", "k FROM"), ROWS, (3, "schema_change"), "column v (string) is in the target and no"),
        (KEPT.replace("v FROM", "length(v) AS v FROM"), ROWS, (3, "schema_change"), "was string and would become int"),
        (KEPT.replace("vnodes: 4", "vnodes: 8"), ROWS, (3, "vnodes_changed"), "was created with 4 vnodes"),
        (KEPT.replace("target: gold/kept", "target: silver/rows2"), ROWS, (3, "foreign_target"), "silver/rows2"),
    ],
    ids=[
        "NULL keys",
        "repeated keys",
        "column dropped",
        "column retyped",
        "vnodes changed",
        "target of another",
    ],
)
def test_rows_and_definitions_that_do_not_fit_leave_the_target_as_it_was(
    text: str,
    rows: list[tuple[int | None, str]],
    code: tuple[int, str],
    said: str,
    lake: Path,
    spoiled: Callable[..., Ended],
    here: Program,
) -> None:
    write_deltalake(str(lake / "silver" / "rows2"), pa.table({"k": [1], "v": ["theirs"]}), mode="ignore")
    targets = [DeltaTable(str(lake / place)) for place in ("gold/kept", "silver/rows2")]
    before = [target.version() for target in targets]

    ended = spoiled(text, rows)

    error = error_of(ended)
    assert (ended.code, error["code"]) == code
    assert said in error["message"]
    assert error["message"].count("k=") == {"null_key": 2, "duplicate_key": 3}.get(error["code"], 0)
    for target in targets:
        target.update_incremental()
    assert [target.version() for target in targets] == before
    shown = here("show", "kept", "--control", str(lake / "control"), "--output", "json").json
    assert (shown["state"], shown["run"]) == ("IDLE", None)
    assert not any((lake / "control" / "staging").glob("*/*"))
