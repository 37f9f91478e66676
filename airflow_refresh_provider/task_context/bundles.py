"""DAG bundles: Airflow keeps each version of one in a folder of its own.

A relative path in a definition is resolved against its file. Inside such a folder the target would change with every
commit of the bundle, and Airflow deletes folders that are no longer used.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from airflow.sdk import conf

from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.problems import invalid


def outside(definition: Definition | Broken) -> Definition | Broken:
    """The definition, or a Broken one if its target is inside a bundle's folder."""
    if isinstance(definition, Broken) or not Path(definition.target).is_relative_to(_checkouts()):
        return definition
    line = (
        f"target: {definition.target} is inside the folder of a DAG bundle, which Airflow deletes: "
        "write a URI or an absolute path"
    )
    return Broken(f"broken.{definition.name}", definition.name, invalid([line]))


def _checkouts() -> Path:
    """The folder that Airflow configures."""
    said = conf.get("dag_processor", "dag_bundle_storage_path", fallback=None)
    return Path(said) if said else Path(tempfile.gettempdir(), "airflow", "dag_bundles")
