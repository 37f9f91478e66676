"""The compose file is whole: images pinned, ports closed to the outside, health known, versions as required."""

import configparser
import re
from typing import Any

import pytest
import yaml

from tests.architecture.source import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def requirement(name: str) -> str:
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg")
    found = re.search(rf"^{name}==(\S+)$", metadata["options"]["install_requires"], re.MULTILINE)
    assert found is not None
    return found.group(1)


@each_service
def test_every_image_is_pinned_to_one_release(service: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z/]+:[\w.-]*\d[\w.-]*", service["image"])


@each_service
def test_every_port_is_open_to_this_machine_only(service: dict[str, Any]) -> None:
    assert service["ports"]
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in service["ports"])


@each_service
def test_every_service_tells_whether_it_is_well(service: dict[str, Any]) -> None:
    assert service["healthcheck"]["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= service["healthcheck"].keys()


def test_every_volume_and_every_service_waited_for_is_declared() -> None:
    for service in SERVICES.values():
        assert service.get("depends_on", {}).keys() <= SERVICES.keys()
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= COMPOSE["volumes"].keys()


def test_spark_and_delta_have_the_versions_that_the_package_requires() -> None:
    spark, delta = requirement("pyspark"), requirement("delta-spark")
    assert SERVICES["spark-connect"]["image"].startswith(f"apache/spark:{spark}-")
    packages = next(word for word in SERVICES["spark-connect"]["command"] if word.startswith("--packages="))
    assert f"io.delta:delta-spark_{spark.rpartition('.')[0]}_2.13:{delta}" in packages
