"""Errors about inputs without the values of their variables: what is said is stored, logged and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from airflow_refresh_provider.core.changes.pins import Pin
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.text.variables import variables, written_back
from airflow_refresh_provider.errors import RefreshError


@contextmanager
def without_values(environment: Mapping[str, str], inputs: Iterable[Input]) -> Iterator[None]:
    """Errors of the block have `${NAME}` in the place of values, as the inputs are written."""
    try:
        yield
    except RefreshError as error:
        templates = [text for read in inputs for text in (read.path, *read.options.values()) if variables(text)]
        if not templates:
            raise
        raise error.rewritten(lambda text: written_back(text, templates, environment)) from None


@contextmanager
def of_pin(environment: Mapping[str, str], pinned: Pin) -> Iterator[None]:
    """The same for one pinned input."""
    written = pinned.variables.written if pinned.variables else pinned.location
    with without_values(environment, [Input(path=written, format=pinned.format)]):
        yield
