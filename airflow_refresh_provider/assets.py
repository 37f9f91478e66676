"""Assets of targets and inputs.

A target's asset has the name of its definition and the URI of the target. An input may be a target too, or be read
by several DAGs, of which only some watch it. Airflow keeps only one of two assets with the same URI, and watches an
asset only as long as every DAG that refers to it has the watcher. So reading an input and watching it are two assets.
"""

from __future__ import annotations

from airflow.sdk import Asset, AssetWatcher

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.triggers.input_trigger import InputTrigger


def asset_of(name: str, place: str) -> Asset:
    """The asset of a definition's target: its name is the definition's, its URI the target's."""
    return Asset(name=name, uri=_uri(place))


def input_asset(read: Input) -> Asset:
    """The asset of an input that is read."""
    return Asset(name=read.path, uri=f"{_uri(read.path)}?asset=input")


def changes_asset(read: Input) -> Asset:
    """The watched asset of an input: it has an event whenever rows may have changed."""
    watcher = AssetWatcher(name="changes", trigger=_trigger(read))
    return Asset(name=f"changes of {read.path}", uri=f"{_uri(read.path)}?asset=changes", watchers=[watcher])


def _trigger(read: Input) -> InputTrigger:
    fields = read.model_dump(mode="json", include={"path", "format"})
    return InputTrigger(read=fields, every=configuration.watch_interval())


def _uri(place: str) -> str:
    return place if "://" in place else f"file://{place}"
