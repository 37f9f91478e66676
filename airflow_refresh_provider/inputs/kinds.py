"""The registry of kinds: for each format that a definition may name, the object `KIND` of its module in this package.

A new kind is a new module here and a line in `core.definition.inputs.FORMATS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from airflow_refresh_provider.core.definition.inputs import FORMATS
from airflow_refresh_provider.ports.input_kind import InputKind, InputKinds


def kind_of(format: str) -> InputKind[Any]:
    """The kind of a format, imported when it is used."""
    kind: InputKind[Any] = import_module(f"{__package__}.{FORMATS[format]}").KIND
    return kind


def input_kinds() -> InputKinds:
    """Every kind by its format."""
    return {name: kind_of(name) for name in FORMATS}
