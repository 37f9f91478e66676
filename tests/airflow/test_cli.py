"""`airflow refresh`: the same commands, results and exit codes behind Airflow's program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.cli.table import COMMANDS

ROOT = Path(__file__).parents[2]
FILE = """
name: orders
target: ./gold
query: SELECT id FROM x
inputs: {x: {path: ./silver}}
keys: [id]
"""


@pytest.fixture
def in_database(_metadata: None, tmp_path: Path) -> Iterator[Path]:
    """A control root that only a connection in Airflow's database names. The connection goes with the test."""
    from airflow.models import Connection
    from airflow.utils.session import create_session

    root = tmp_path / "control"
    extra = json.dumps({"control": str(root)})
    with create_session() as session:
        session.add(Connection(conn_id="refresh_default", conn_type="airflow_refresh", extra=extra))
    yield root
    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == "refresh_default").delete()


def _airflow(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW_REFRESH_", "AIRFLOW_CONN_"))}
    return subprocess.run(
        [sys.executable, "-m", "airflow", "refresh", *words],
        env=kept | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_commands_work_on_the_root_of_the_connection(in_database: Path, tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text(FILE)
    write_deltalake(str(tmp_path / "silver"), pa.table({"id": [1]}))
    registered = _airflow("register", str(tmp_path / "orders.yaml"), "--output", "json")
    assert (registered.returncode, in_database.is_dir()) == (0, True), registered.stdout
    assert json.loads(registered.stdout)[0]["name"] == "orders"
    unknown = _airflow("show", "unknown", "--output", "json")
    assert (unknown.returncode, json.loads(unknown.stdout)["error"]["code"]) == (2, "unknown_name")


def test_an_option_takes_precedence_over_the_connection(in_database: Path, tmp_path: Path) -> None:
    listed = _airflow("list", "--control", str(tmp_path / "other"), "--output", "json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, []), listed.stderr
    assert not in_database.exists()


def test_a_database_that_was_not_migrated_is_reported_in_three_lines(tmp_path: Path) -> None:
    ended = _airflow("list", AIRFLOW_HOME=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    failed, left, following = ended.stderr.splitlines()[-3:]
    assert failed.endswith("no such table: connection [airflow_database]")
    assert left == " left: Nothing was changed."
    assert "`airflow db migrate`" in following
    assert f"AIRFLOW_HOME (it is {tmp_path})" in following
    assert "Traceback" not in ended.stderr


def test_every_command_is_there() -> None:
    from airflow_refresh_provider.airflow_cli import commands

    [group] = commands()
    names: set[tuple[str, ...]] = {(c.name,) for c in group.subcommands if not hasattr(c, "subcommands")}
    for inner in group.subcommands:
        names |= {(inner.name, below.name) for below in getattr(inner, "subcommands", ())}
    assert names == {command.words for command in COMMANDS}


def test_checking_a_file_asks_no_database(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text("name: orders\ntarget: /t\nfrom: x\ninputs: {x: {path: /x}}\nkeys: [k]\n")
    ended = _airflow("validate", str(file), AIRFLOW_HOME=str(tmp_path))
    assert ended.returncode == 0, ended.stderr
