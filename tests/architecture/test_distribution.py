"""Airflow finds the provider exactly once, and what it says about itself is what Airflow expects."""

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path

import jsonschema
import pytest

import airflow_refresh_provider
from airflow_refresh_provider.provider_info import get_provider_info

NAME = "airflow-refresh-provider"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def airflow_schema() -> dict[str, object]:
    # Found without importing Airflow, which would cost seconds.
    found = importlib.util.find_spec("airflow")
    assert found is not None
    assert found.submodule_search_locations
    path = Path(next(iter(found.submodule_search_locations))) / "provider_info.schema.json"
    schema: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def test_exactly_one_distribution_bears_the_name() -> None:
    found = [d for d in importlib.metadata.distributions() if canonical(d.metadata["Name"] or "") == NAME]
    assert [distribution.version for distribution in found] == [airflow_refresh_provider.__version__]


def test_the_entry_points_lead_to_what_they_name() -> None:
    points = {point.group: point for point in importlib.metadata.distribution(NAME).entry_points}
    assert points["apache_airflow_provider"].load() is get_provider_info
    assert points["console_scripts"].name == "airflow-refresh"
    assert callable(points["console_scripts"].load())


def test_the_metadata_is_what_airflow_accepts() -> None:
    info = get_provider_info()
    jsonschema.validate(info, airflow_schema())
    assert info["package-name"] == NAME


def test_airflow_would_refuse_metadata_without_a_description() -> None:
    info = get_provider_info()
    del info["description"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(info, airflow_schema())


def test_both_flavours_of_pyspark_have_the_same_version() -> None:
    assert importlib.metadata.version("pyspark") == importlib.metadata.version("pyspark-client")
