"""What a DAG costs while Airflow parses it, and what its definition says when it is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.serialization.serialized_objects import DagSerialization

from airflow_refresh_provider import Definition, VnodeMergeOperator, refresh_dag
from airflow_refresh_provider.definition_files import PARSED_FOR
from airflow_refresh_provider.operators.refresh_operators import target_asset
from airflow_refresh_provider.provider_info import get_provider_info
from tests.airflow.conftest import Airflow

PARSE = """
import json, sys
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.build(name="a", target="/t", query="SELECT * FROM x", inputs={"x": {"path": "/x"}}, keys=["k"]))
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
AGAIN = """
import os, sys
from airflow_refresh_provider import RefreshOperator, load_definitions, refresh_dag
from airflow_refresh_provider.definition_files import PARSED_FOR
from airflow.sdk import get_parsing_context
(one,) = load_definitions({folder!r})
refresh_dag(one)
RefreshOperator(task_id="alone", definition=one)
print("sqlglot" in sys.modules)
os.environ[PARSED_FOR] = "a_dag"
assert get_parsing_context().dag_id == "a_dag"
"""
HEAVY = {"pyspark", "delta", "deltalake", "pandas", "pyarrow", "grpc", "obstore"}


def _definition(**changes: Any) -> Definition:
    given: dict[str, Any] = {
        "name": "a.b",
        "target": "/lake/t",
        "query": "SELECT '{{ ds }}' AS k FROM x",
        "inputs": {"x": {"path": "/x"}},
        "keys": ["k"],
    }
    return Definition.build(**(given | changes))


def test_parsing_a_dag_loads_no_engine() -> None:
    ended = subprocess.run([sys.executable, "-c", PARSE], capture_output=True, text=True, check=True, timeout=120)
    assert not HEAVY & set(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.parametrize("running", [False, True])
def test_a_task_parses_no_query(tmp_path: Path, *, running: bool) -> None:
    (tmp_path / "a.yaml").write_text(
        "name: a\ntarget: /t\nquery: SELECT k FROM x\ninputs: {x: {path: /x}}\nkeys: [k]\n"
    )
    environment = os.environ | ({PARSED_FOR: "a_dag"} if running else {})
    program = [sys.executable, "-c", AGAIN.format(folder=str(tmp_path))]
    ended = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120, env=environment)
    assert ended.stdout.split() == [str(not running)]


def test_a_dag_survives_serialisation_and_the_query_is_no_template() -> None:
    dag = refresh_dag(_definition(), schedule="@hourly")
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert {task.task_id for task in kept.tasks} == {"start", "load", "merge", "finish", "release"}
    merge = dag.get_task("merge")
    assert merge.operator_class is VnodeMergeOperator
    assert "definition" not in merge.template_fields
    assert _definition().query_text in (dag.doc_md or "")


def test_the_docs_say_what_is_followed() -> None:
    dag = refresh_dag(_definition(query="SELECT md5(v) AS k, count(*) AS n FROM x GROUP BY v", mode="auto"))
    assert "- changes of `x`: compute everything: x without a column" in (dag.doc_md or "")


def test_the_asset_bears_the_name_of_the_definition() -> None:
    asset = target_asset(_definition(target="s3://bucket/t"))
    assert (asset.name, asset.uri) == ("a.b", "s3://bucket/t")


@pytest.mark.parametrize("conf", [{"on_interrupted": "maybe"}, {"force": "perhaps"}, {"mode": "some"}])
def test_a_bad_value_in_the_form_is_refused_by_name(
    airflow: Airflow, conf: dict[str, Any], connection: Callable[..., None]
) -> None:
    connection(control="/nowhere")
    body = f"""
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({_definition().model_dump(mode="json", exclude_unset=True)!r}))
"""
    dag = airflow.dag(body)
    with pytest.raises(Exception, match=next(iter(conf))):
        airflow.run(dag, **conf)


@pytest.mark.parametrize("found", ["2.11.0", "3.2.9"])
def test_an_airflow_that_is_too_old_is_reported_in_one_line(found: str) -> None:
    body = (
        f"import importlib.metadata as m; m.version = lambda _name: {found!r}\n"
        "from airflow_refresh_provider import Definition, load_definitions\n"
        "from airflow_refresh_provider import refresh_dag"
    )
    ended = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=60)
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: refresh_dag needs Apache Airflow 3.3 or newer; found: {found}.")


def test_every_class_that_the_metadata_names_is_there() -> None:
    from importlib import import_module

    info: Any = get_provider_info()
    for kind in info["connection-types"]:
        module, _, name = kind["hook-class-name"].rpartition(".")
        assert getattr(import_module(module), name).conn_type == kind["connection-type"]
    for link in info["extra-links"]:
        module, _, name = link.rpartition(".")
        assert getattr(import_module(module), name)().name
    for part in ("hooks", "operators", "sensors", "triggers"):
        for entry in info[part]:
            for module in entry["python-modules"]:
                import_module(module)
