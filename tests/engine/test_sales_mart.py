"""The sales mart of `dags/`: nine tables in three levels follow changing orders, and stay equal to their queries."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.timing.cascade import upstream_first
from airflow_refresh_provider.definition_files import load_definitions
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.lake import Lake, change_orders, make

DAGS = Path(__file__).parents[2] / "dags"
CHANGES = 3


def mart(folder: Path, endpoint: Endpoint) -> tuple[Refreshes, Lake, list[str]]:
    shutil.copytree(DAGS / "sales_mart", folder / "dags" / "sales_mart")
    lake = Lake(folder / ".demo")
    lake.root.mkdir()
    make(lake, 0.01)
    found = refreshes(Places(str(lake.control), endpoint.url, str(folder / "spark")))
    definitions = [one for one in load_definitions(folder / "dags" / "sales_mart") if isinstance(one, Definition)]
    for link in upstream_first(definitions):
        found.register(link.definition)
    return found, lake, [definition.name for definition in definitions]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_mart_follows_its_inputs(tmp_path: Path, spark_server: Endpoint) -> None:
    found, lake, names = mart(tmp_path, spark_server)
    assert len(names) == 9
    codes: dict[str, list[str | None]] = {name: [] for name in names}
    for change in range(1 + CHANGES):
        if change:
            change_orders(lake, one_in=97 + change)
        for step in found.cascade(names, Request()).refreshes:
            assert step.result is not None, step
            assert {notice.code for notice in step.result.notices} <= {"not_added_up"}, step.result.notices
            codes[step.name].append(step.result.mode_code)
        assert [name for name in names if not found.compare_only(name).equal] == []
    followed = [name for name in names if codes[name][2:] == ["changes"] * (CHANGES - 1)]
    assert len(followed) >= 8, codes
