"""What the compose file and its page say to Airflow: options it knows, commands it takes, a connection, a DAG."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.airflow.conftest import Airflow
from tests.sharing import copy_migrated

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "compose"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())["services"]
AIRFLOWS = {name: service for name, service in SERVICES.items() if name.startswith("airflow-")}
PAGE = (ROOT / "docs" / "compose.md").read_text()
SHOWN = re.findall(r"^\$ docker compose exec (\S+) airflow (.*)$", PAGE, flags=re.MULTILINE)


def _commands() -> list[list[str]]:
    """Every command of Airflow's that a container runs, that looks after its health, or that the page shows."""
    commands = [service["command"] for service in AIRFLOWS.values()]
    started = [words for words in commands if words[0] != "bash"]
    script = next(words[2] for words in commands if words[0] == "bash")
    checks = [service["healthcheck"]["test"][1:] for service in AIRFLOWS.values() if "healthcheck" in service]
    typed = [words.split() for _, words in SHOWN]
    whole = [*(part.split() for part in script.split("&&")), *checks]
    return [*started, *typed, *(words[1:] for words in whole if words[0] == "airflow")]


@pytest.mark.parametrize("variable", sorted(AIRFLOWS["airflow-scheduler"]["environment"]))
def test_every_variable_names_an_option_of_airflow(variable: str) -> None:
    from airflow.configuration import conf

    prefix, *names = variable.split("__")
    if prefix != "AIRFLOW":
        assert prefix.startswith("AWS_")
        return
    section, option = (name.lower() for name in names)
    assert option in conf.configuration_description[section]["options"]


@pytest.mark.parametrize("words", _commands(), ids=" ".join)
def test_every_command_is_one_that_airflow_takes(words: list[str]) -> None:
    from airflow.cli.cli_parser import get_parser

    get_parser().parse_args(words)


def test_the_page_looks_into_a_container_that_has_the_provider() -> None:
    assert len(SHOWN) >= 4
    assert {service for service, _ in SHOWN} <= AIRFLOWS.keys() - {"airflow-init"}


@pytest.mark.slow
def test_the_first_container_makes_a_connection_that_the_others_can_read(tmp_path: Path) -> None:
    """It may run again; like containers, both have only environment and database in common."""
    program = tmp_path / "bin" / "airflow"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m airflow "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    given = AIRFLOWS["airflow-init"]["environment"] | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    given["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{tmp_path}/airflow.db"
    copy_migrated(tmp_path / "airflow.db")
    [shell, flag, script] = AIRFLOWS["airflow-init"]["command"]
    first = [shell, flag, script.replace("/opt/airflow/dags/compose", str(EXAMPLE))]
    other = ["airflow", "connections", "get", RefreshHook.default_conn_name, "--output", "json"]
    for command, home in ((first, "one"), (first, "two"), (other, "three")):
        environment = given | {"AIRFLOW_HOME": str(tmp_path / home), "HOME": str(tmp_path)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == 0, ended.stderr
    assert "s3://lake/control" in ended.stdout


def test_the_connection_leads_to_the_containers(connection: Callable[..., None]) -> None:
    given = yaml.safe_load((EXAMPLE / "connections.yaml").read_text())[RefreshHook.default_conn_name]
    assert given["conn_type"] == RefreshHook.conn_type
    connection(**given["extra"])
    places = RefreshHook().places()
    assert (places.control, places.spark) == ("s3://lake/control", "sc://spark-connect:15002")


def test_the_dag_of_the_smoke_test_does_what_its_page_says(
    airflow: Airflow,
    connection: Callable[..., None],
    tmp_path: Path,
    spark_server: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SMOKE_LAKE", str(tmp_path))
    connection(control=str(tmp_path / "control"), spark=spark_server.url)
    dag = airflow.dag((EXAMPLE / "smoke.py").read_text())
    assert dag.dag_id == "smoke"
    first, second = airflow.run(dag), airflow.run(dag)
    assert (first.state, second.state) == ("success", "success")
    assert first.returned["refresh"]["rows"]["inserted"] == 1000
    assert second.returned["refresh"]["rows"] == {"inserted": 0, "updated": 10, "deleted": 0, "unchanged": 990}
    assert DeltaTable(str(tmp_path / "prices")).version() == second.returned["refresh"]["target_version"]
