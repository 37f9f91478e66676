"""Where Airflow keeps the checkouts of DAG bundles: files to be read, each version in a folder of its own.

A relative path in a definition begins at its file. Within such a checkout a target would be another with every commit,
and Airflow deletes checkouts that nobody uses any more.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from airflow.sdk import conf

from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.problems import invalid


def outside(definition: Definition | Broken) -> Definition | Broken:
    """The definition, or what stands in its place where the target lies in a checkout."""
    if isinstance(definition, Broken) or not Path(definition.target).is_relative_to(_checkouts()):
        return definition
    line = (
        f"target: {definition.target} lies where Airflow keeps checkouts of DAG bundles, and deletes them: "
        "write a URI or an absolute path"
    )
    return Broken(f"broken.{definition.name}", definition.name, invalid([line]))


def _checkouts() -> Path:
    """As Airflow decides it."""
    said = conf.get("dag_processor", "dag_bundle_storage_path", fallback=None)
    return Path(said) if said else Path(tempfile.gettempdir(), "airflow", "dag_bundles")
