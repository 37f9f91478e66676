"""Airflow finds the provider exactly once, and what it says about itself is what Airflow expects."""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import airflow_refresh_provider
from airflow_refresh_provider.provider_info import get_provider_info
from tests.architecture.source import PACKAGE
from tests.architecture.wheel import build

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


INSTALLED = """
import importlib.metadata, json
from airflow.providers_manager import ProvidersManager

named = [d for d in importlib.metadata.distributions() if d.name == "airflow-refresh-provider"]
points = [p for d in named for p in d.entry_points]
manager = ProvidersManager()
print(json.dumps({
    "places": [str(d.locate_file("")) for d in named],
    "points": sorted(p.group for p in points),
    "providers": [name for name in manager.providers if "refresh" in name],
    "connection": manager.hooks["airflow_refresh"].package_name,
    "code": __import__("airflow_refresh_provider").__file__,
}))
"""


@pytest.mark.slow
def test_a_normal_install_is_found_exactly_once_too(tmp_path: Path) -> None:
    """A wheel in an environment of its own, which has the other packages of this one, but not this package."""
    place = _environment(tmp_path / "environment")
    uv = Path(sys.executable).with_name("uv")
    _run(uv, "pip", "install", "--no-deps", "--python", place / "bin" / "python", build(tmp_path), folder=tmp_path)

    reported = json.loads(_run(place / "bin" / "python", "-c", INSTALLED, folder=tmp_path).splitlines()[-1])

    [site] = place.glob("lib/python*/site-packages")
    assert reported == {
        "places": [str(site)],
        "points": ["airflow.plugins", "apache_airflow_provider", "console_scripts"],
        "providers": [NAME],
        "connection": NAME,
        "code": str(site / "airflow_refresh_provider" / "__init__.py"),
    }
    assert _files_of_the_page(site / PACKAGE.name) == _files_of_the_page(PACKAGE) >= {"base.html", "htmx.min.js"}
    control = ("--control", tmp_path / "control", "--output", "json")
    assert json.loads(_run(place / "bin" / "airflow-refresh", "list", *control, folder=tmp_path)) == []


def _files_of_the_page(package: Path) -> set[str]:
    folders = (package / "page" / "static", package / "page" / "templates")
    return {file.name for folder in folders for file in folder.iterdir()}


def _environment(place: Path) -> Path:
    """A virtual environment in which everything is installed that this one has, but for the project."""
    _run(sys.executable, "-m", "venv", "--without-pip", place, folder=place.parent)
    others = place / "others"
    others.mkdir()
    for found in Path(sysconfig.get_path("purelib")).iterdir():
        if "airflow_refresh_provider" not in found.name:
            (others / found.name).symlink_to(found)
    [site] = place.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(f"{others}\n")
    return place


def _run(*words: Any, folder: Path) -> str:
    """What a program prints that knows nothing of this checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"AIRFLOW_HOME": str(folder / "airflow"), "HOME": str(folder)}
    ended = subprocess.run(
        [*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
