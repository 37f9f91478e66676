"""What is submitted, word by word, and what a task makes of how the application ended."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.sdk import Connection

from airflow_refresh_provider import RefreshSubmitOperator
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ApplicationResult, Differences, Outcome, Rows, RunResult
from airflow_refresh_provider.errors import Failed, Invalid, Refused, Retry
from airflow_refresh_provider.operators.submission import Submission, arguments, check_cluster
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import EXCLUDED, PACKAGE, delta_jars
from airflow_refresh_provider.task_context import binding
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.airflow.stand_in import StandIn
from tests.unit.runner.world import NAME

PAGE = Path(__file__).parents[2] / "docs" / "spark_apps.md"
PROGRAM = Path(__file__).parents[2] / "airflow_refresh_provider" / "spark_apps" / "refresh.py"
SHOWN = re.compile(r"^```sh\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
STANDALONE, YARN, KUBERNETES = range(3)
DAG_FILE = """
import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshSubmitOperator
from airflow_refresh_provider.task_context.trigger_form import trigger_form
with DAG("submitted", schedule=None, start_date=datetime.datetime(2024, 1, 1), params=trigger_form()):
    RefreshSubmitOperator(task_id="refresh", definition={definition!r}, **{given!r})
"""
AGAIN: dict[str, Any] = {"retries": 1, "retry_delay": 0}
RESULT = RunResult(
    run_id="r",
    name=NAME,
    outcome=Outcome.SUCCEEDED,
    generation=1,
    rows=Rows(inserted=9),
    target_version=2,
    published_version=1,
)


class Site:
    """A task that submits, the program it submits with, and the connection it goes by."""

    def __init__(self, airflow: Airflow, shared: Shared, program: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
        self._airflow = airflow
        self._monkeypatch = monkeypatch
        self.shared = shared
        self.program = program
        monkeypatch.setenv("PATH", program.path)
        self.connect("spark://127.0.0.1", 7077)

    def connect(self, host: str, port: int | None = None, extra: dict[str, str] | None = None) -> None:
        """Set the connection `spark_default`."""
        value = {"conn_type": "spark", "host": host, "port": port, "extra": extra or {}}
        self._monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(value))

    def run(self, conf: dict[str, Any] | None = None, **given: Any) -> Any:
        """One DAG run of a task with these arguments."""
        dag = self._airflow.dag(DAG_FILE.format(definition=self.shared.definition, given=given))
        return self._airflow.run(dag, **(conf or {}))


@pytest.fixture
def site(
    airflow: Airflow,
    share: Callable[..., Shared],
    connection: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Site]:
    before = signal.getsignal(signal.SIGTERM)
    shared = share()
    connection(control=str(tmp_path / "control"))
    (tmp_path / "control").mkdir()
    (tmp_path / "bin").mkdir()
    yield Site(airflow, shared, StandIn(tmp_path / "bin", tmp_path / "control"), monkeypatch)
    signal.signal(signal.SIGTERM, before)


def result(ended: object = RESULT) -> str:
    return ApplicationResult.of(ended).model_dump_json()


def shown(which: int, words: list[str], **places: str) -> list[str]:
    """A command line of the page, with the places of this test and what is random taken from the words."""
    command = SHOWN.findall(PAGE.read_text())[which].replace("\\\n", " ")
    random = {"$RESULT_ID": words[words.index("--result-id") + 1], "$ORIGIN": words[words.index("--origin") + 1]}
    reported = {"open_orders": NAME, "$PROGRAM": str(PROGRAM), "$PYTHON": sys.executable, **random, **places}
    found = shlex.split(command)[1:]
    for name, value in reported.items():
        found = [word.replace(name, value) for word in found]
    return found


def test_a_driver_here_is_submitted_to_a_standalone_master_as_the_page_shows(site: Site, tmp_path: Path) -> None:
    site.connect("spark://127.0.0.1", 7077, {"deploy-mode": "client"})
    site.program.ends(result())

    seen = site.run()

    assert (seen.state, seen.returned["refresh"]["rows"]["inserted"]) == ("success", 9)
    jars = ",".join(map(str, delta_jars(find(os.environ), os.environ)))
    words = site.program.words
    assert words == shown(STANDALONE, words, **{"$JARS": jars, "/lake/control": str(tmp_path / "control")})
    assert words[words.index("--origin") + 1] == binding.origin_of("submitted", seen.run_id)


def test_a_driver_on_yarn_is_submitted_as_the_page_shows(site: Site, connection: Callable[..., None]) -> None:
    site.connect("yarn", extra={"queue": "nightly", "deploy-mode": "cluster"})
    connection(control="abfss://lake@account.dfs.core.windows.net/control")

    site.run(submit_options={"num_executors": 4, "executor_memory": "4g"})

    words = site.program.words
    assert words == shown(YARN, words, **{"$EXCLUDED": EXCLUDED})
    assert PACKAGE in words


def test_a_driver_on_kubernetes_is_submitted_as_the_page_shows(
    site: Site, connection: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The hook only looks whether Airflow's provider for Kubernetes is there, as long as no pod has to be deleted.
    monkeypatch.setattr(spark_submit, "kube_client", spark_submit, raising=False)
    site.connect("k8s://https://kubernetes", 6443, {"namespace": "refresh", "deploy-mode": "cluster"})
    connection(control="s3://lake/control")

    image = {"spark.kubernetes.container.image": "registry/refresh:1"}
    site.run(application="local:///opt/refresh.py", delta="image", submit_options={"conf": image})

    words = site.program.words
    assert words == shown(KUBERNETES, words)


def test_the_trigger_form_reaches_the_application(site: Site) -> None:
    site.run(conf={"on_interrupted": "restart", "force": True})
    words = site.program.words
    asked = words[words.index("--on-interrupted") : words.index("--origin")]
    assert asked == ["--on-interrupted", "restart", "--force"]


def test_what_the_user_wants_is_added_and_takes_precedence(site: Site) -> None:
    utc = "spark.driver.defaultJavaOptions"
    site.run(delta="packages", submit_options={"packages": "a:b:1", "conf": {utc: "-Dx=y"}, "name": "mine"})
    words = site.program.words
    assert words[words.index("--packages") + 1] == f"a:b:1,{PACKAGE}"
    assert words[words.index("--name") + 1] == "mine"
    assert [word for word in words if word.startswith(utc)] == [f"{utc}=-Dx=y"]


def test_a_refresh_with_nothing_to_do_is_skipped_before_anything_is_submitted(site: Site) -> None:
    site.shared.world.run()
    assert site.run().tasks == {"refresh": "skipped"}
    assert site.program.starts == 0
    site.program.ends(result())
    assert site.run(conf={"force": True}).tasks == {"refresh": "success"}


def test_a_refresh_that_the_application_found_not_needed_is_skipped(site: Site) -> None:
    site.program.ends(result(RESULT.model_copy(update={"outcome": Outcome.NOTHING_TO_DO, "reason": "nothing moved"})))
    assert site.run().tasks == {"refresh": "skipped"}


def test_a_comparison_is_asked_of_the_application(site: Site) -> None:
    site.shared.world.run()
    found = Differences(
        name=NAME,
        target="/gold",
        target_version=1,
        input_versions={},
        rows=Rows(inserted=1),
        source_rows=1,
        target_rows=0,
        equal=False,
        seconds=1.0,
    )
    site.program.ends(result(found))
    assert site.run(conf={"compare_only": True}).tasks == {"refresh": "skipped"}
    assert "--compare-only" in site.program.words


def test_an_application_that_could_not_end_in_order_after_its_refresh_did_its_work(site: Site) -> None:
    site.program.ends(result(), code=1)
    assert site.run().tasks == {"refresh": "success"}


@pytest.mark.parametrize("kind", [Refused, Invalid, Failed])
def test_an_error_that_a_retry_cannot_fix_fails_the_task_without_retries(site: Site, kind: Any) -> None:
    error = kind("code", "it would harm someone", left="as it was", next="decide")
    site.program.ends(result(error), code=error.exit_code)
    assert site.run(**AGAIN).tasks == {"refresh": "failed"}
    assert site.program.starts == 1


def test_what_may_help_if_it_is_tried_again_is(site: Site) -> None:
    error = Retry("code", "Spark does not answer", left="as it was", next="run again")
    site.program.ends(result(error), code=1)
    assert site.run(**AGAIN).tasks == {"refresh": "failed"}
    assert site.program.starts == 2


@pytest.mark.parametrize("code", [0, 137])
def test_an_application_without_a_result_is_tried_again(site: Site, code: int) -> None:
    site.program.ends(code=code)
    assert site.run(**AGAIN).tasks == {"refresh": "failed"}
    assert site.program.starts == 2


def test_a_result_is_read_once(site: Site, tmp_path: Path) -> None:
    site.program.ends(result())
    site.run()
    assert [path.name for path in (tmp_path / "control").rglob("*.json")] == []


def test_a_task_that_is_asked_to_stop_ends_what_it_has_submitted(site: Site) -> None:
    site.program.ends(seconds=600)
    submitted: list[psutil.Process] = []
    before = psutil.Process().children()  # servers of other tests

    def stop() -> None:
        end = time.monotonic() + 300
        while not site.program.starts and time.monotonic() < end:
            time.sleep(0.05)
        submitted.extend(child for child in psutil.Process().children() if child not in before)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop, daemon=True).start()
    assert site.run().tasks == {"refresh": "failed"}
    assert submitted
    assert psutil.wait_procs(submitted, timeout=300)[1] == []


def test_a_missing_connection_is_said(site: Site) -> None:
    assert site.run(spark_conn_id="nowhere").tasks == {"refresh": "failed"}
    with pytest.raises(Invalid, match="the Spark connection nowhere does not exist"):
        Submission("nowhere").hook(NAME, [])


@pytest.mark.usefixtures("site")
def test_a_driver_in_a_standalone_cluster_is_refused() -> None:
    with pytest.raises(Invalid, match="only YARN and Kubernetes"):
        Submission("spark_default", options={"deploy_mode": "cluster"}).hook(NAME, [])


def test_kubernetes_without_its_provider_is_said() -> None:
    connection = Connection(conn_id="spark_default", conn_type="spark", host="k8s://https://kubernetes", port=6443)
    with pytest.raises(Invalid, match="provider for it is not installed"):
        check_cluster("spark_default", connection, cluster=False, kubernetes=False)
    check_cluster("spark_default", connection, cluster=True, kubernetes=True)


@pytest.mark.parametrize("option", ["conn_id", "application_args", "yarn_track_via_rm_api"])
def test_options_that_are_decided_here_are_refused_when_the_dag_is_parsed(option: str) -> None:
    with pytest.raises(Invalid, match=option):
        RefreshSubmitOperator(task_id="t", definition="d", submit_options={option: "x"})


@pytest.mark.usefixtures("site")
def test_where_no_spark_submit_is_on_the_path_the_installed_one_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = find(os.environ).java_home
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(java))
    hook = Submission("spark_default").hook(NAME, [])
    assert hook.spark_binary == find(os.environ).submit


@pytest.mark.parametrize("scheduled", [True, False])
def test_an_application_knows_whether_its_failures_count(scheduled: bool) -> None:
    words = arguments(NAME, "/c", Request(scheduled=scheduled), "result")
    assert ("--scheduled" in words) is scheduled


def test_a_task_whose_time_is_over_ends_what_it_has_submitted(site: Site) -> None:
    site.program.ends(seconds=600)
    before = psutil.Process().children()
    assert site.run(execution_timeout=timedelta(seconds=10)).tasks == {"refresh": "failed"}
    left = [child for child in psutil.Process().children() if child not in before]
    assert psutil.wait_procs(left, timeout=60)[1] == []
