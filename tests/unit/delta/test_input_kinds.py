"""The registry of kinds: every module of a kind is registered for a format, and every format has its module."""

from __future__ import annotations

from pathlib import Path

from airflow_refresh_provider import inputs
from airflow_refresh_provider.core.definition.inputs import FORMATS
from airflow_refresh_provider.inputs.kinds import input_kinds

SHARED = {"__init__", "kinds", "listed_files"}


def test_every_kind_is_registered() -> None:
    (folder,) = inputs.__path__
    assert {path.stem for path in Path(folder).glob("*.py")} - SHARED == set(FORMATS.values())
    assert input_kinds().keys() == FORMATS.keys()
