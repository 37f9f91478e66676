"""The compose file is whole: of the right form, images pinned, ports closed to the outside, all it names is there."""

import configparser
import json
import re
import zipfile
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import yaml

import airflow_refresh_provider
from tests.architecture.source import PACKAGE, ROOT
from tests.architecture.wheel import build

TEXT = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONNECTIONS: dict[str, Any] = yaml.safe_load((ROOT / "examples/compose/connections.yaml").read_text(encoding="utf-8"))

WORDS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
DURATION = {"type": "string", "pattern": r"^\d+s$"}
CONDITIONS = ["service_healthy", "service_completed_successfully"]


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


HEALTH = closed(
    ["test", "interval", "timeout", "retries"],
    test={**WORDS, "prefixItems": [{"const": "CMD"}]},
    interval=DURATION,
    timeout=DURATION,
    start_period=DURATION,
    retries={"type": "integer"},
)
SERVICE = closed(
    ["image"],
    image={"type": "string"},
    build=closed(["context", "dockerfile_inline"], context={"const": "."}, dockerfile_inline={"type": "string"}),
    command=WORDS,
    entrypoint=WORDS,
    # Compose takes no bare booleans and guesses at numbers.
    environment={"type": "object", "additionalProperties": {"type": "string"}},
    depends_on={"type": "object", "additionalProperties": closed(["condition"], condition={"enum": CONDITIONS})},
    healthcheck=HEALTH,
    ports={**WORDS, "items": {"type": "string", "pattern": r"^127\.0\.0\.1:\d+:\d+$"}},
    volumes={**WORDS, "items": {"type": "string", "pattern": r"^(\./[\w/-]+:/[\w/-]+:ro|[a-z]+:/[\w/-]+)$"}},
)
FORM = {
    **closed(
        ["services", "volumes"],
        services={"type": "object", "additionalProperties": SERVICE},
        volumes={"type": "object", "additionalProperties": {"type": "null"}},
    ),
    "patternProperties": {"^x-": {}},
}
"""The part of the compose specification that the file keeps to; a key that is misspelt is none of these."""

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def requirement(name: str) -> str:
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg")
    found = re.search(rf"^{name}==(\S+)$", metadata["options"]["install_requires"], re.MULTILINE)
    assert found is not None
    return found.group(1)


def pinned(name: str) -> str:
    found = re.search(rf"^{name}==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found.group(1)


def image_lines() -> list[str]:
    return str(COMPOSE["x-airflow"]["build"]["dockerfile_inline"]).splitlines()


def everything_said(service: dict[str, Any]) -> str:
    return json.dumps([service.get("environment"), service.get("command"), CONNECTIONS])


def test_it_has_the_form_of_a_compose_file() -> None:
    jsonschema.Draft202012Validator(FORM).validate(COMPOSE)


def test_nothing_in_it_is_taken_for_a_variable() -> None:
    assert "$" not in TEXT


@each_service
def test_every_image_is_pinned_to_one_release(service: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z/-]+:[\w.-]*\d[\w.-]*", service["image"])


def test_no_two_services_want_the_same_port() -> None:
    ports = [port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", ())]
    assert sorted(set(ports)) == sorted(ports) == ["15002", "8080", "9000"]


def test_every_service_that_is_waited_for_reports_its_health() -> None:
    """A service that keeps running has a health check; one that ends has none."""
    waited = [(name, how["condition"]) for s in SERVICES.values() for name, how in s.get("depends_on", {}).items()]
    ending = {name for name, condition in waited if condition == "service_completed_successfully"}
    assert ending == {name for name, service in SERVICES.items() if "healthcheck" not in service} == {"airflow-init"}
    assert {name for name, _ in waited} <= SERVICES.keys()


def test_no_service_waits_for_itself() -> None:
    order = TopologicalSorter({name: service.get("depends_on", {}).keys() for name, service in SERVICES.items()})
    assert set(order.static_order()) == SERVICES.keys()


def test_every_volume_is_declared_and_used() -> None:
    places = [volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())]
    assert {place for place in places if not place.startswith("./")} == COMPOSE["volumes"].keys()
    assert {place for place in places if place.startswith("./")} == {"./dags", "./examples/compose"}


@each_service
def test_every_address_is_that_of_a_service(service: dict[str, Any]) -> None:
    urls = [urlsplit(url) for url in re.findall(r"(?:https?|sc|postgresql)[+\w]*://[^\s\"]+", everything_said(service))]
    for url in urls:
        if url.hostname == "localhost":
            continue
        assert url.hostname in SERVICES, url
        serving = SERVICES[url.hostname]
        assert url.port is None or any(port.endswith(f":{url.port}") for port in serving["ports"]), url


def test_the_parts_have_the_same_passwords() -> None:
    ours, postgres = SERVICES["airflow-scheduler"]["environment"], SERVICES["postgres"]["environment"]
    database = urlsplit(ours["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"])
    named = (database.username, database.password, database.path.strip("/"))
    assert named == tuple(postgres[f"POSTGRES_{what}"] for what in ("USER", "PASSWORD", "DB"))
    store, spark = SERVICES["object-store"]["environment"], SERVICES["spark-connect"]["command"]
    keys = (store["MINIO_ROOT_USER"], store["MINIO_ROOT_PASSWORD"])
    assert (ours["AWS_ACCESS_KEY_ID"], ours["AWS_SECRET_ACCESS_KEY"]) == keys
    assert all(
        f"--conf=spark.hadoop.fs.s3a.{kind}.key={key}" in spark
        for kind, key in zip(("access", "secret"), keys, strict=True)
    )


def test_spark_and_delta_have_the_versions_that_the_package_requires() -> None:
    spark, delta = requirement("pyspark"), requirement("delta-spark")
    assert SERVICES["spark-connect"]["image"].startswith(f"apache/spark:{spark}-")
    packages = next(word for word in SERVICES["spark-connect"]["command"] if word.startswith("--packages="))
    assert f"io.delta:delta-spark_{spark.rpartition('.')[0]}_2.13:{delta}" in packages
    assert (pinned("pyspark"), pinned("delta-spark")) == (spark, delta)


def test_airflow_has_the_version_that_the_lock_names_and_keeps_it() -> None:
    airflow = pinned("apache-airflow")
    base, install = image_lines()[0], next(line for line in image_lines() if "pip install" in line)
    found = re.fullmatch(rf"FROM apache/airflow:{re.escape(airflow)}-python(3\.\d+)", base)
    assert found is not None
    assert f"Programming Language :: Python :: {found.group(1)}" in (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert install.split()[-2:] == [f"apache-airflow=={airflow}", "/opt/airflow/provider"]
    assert COMPOSE["x-airflow"]["image"] == f"airflow-refresh-provider:{airflow_refresh_provider.__version__}"


def test_the_password_is_where_airflow_looks_for_it() -> None:
    environment = SERVICES["airflow-api-server"]["environment"]
    written = next(line for line in image_lines() if "echo" in line)
    user = environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"].partition(":")[0]
    assert json.loads(written.split("'")[1]).keys() == {user}
    assert written.split()[-1] == environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]


@pytest.mark.slow
def test_what_docker_may_read_is_enough_to_build_the_package(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    modules = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert modules == {str(module.relative_to(ROOT)) for module in PACKAGE.rglob("*.py")}
