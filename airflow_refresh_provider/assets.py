"""Assets: what Airflow calls the targets that are kept fresh, and the inputs they are made of.

A target's asset has the name of its definition and lies at the target. An input may be somebody's target, or be read
by several DAGs, of which only some watch it. Of two assets with one URI Airflow shuts one out, and an asset is watched
only as long as every DAG that names it does so. Hence what is read of a place and the changes made to it are assets of
their own.
"""

from __future__ import annotations

from airflow.sdk import Asset, AssetWatcher

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.triggers.input_trigger import InputTrigger


def asset_of(name: str, place: str) -> Asset:
    """The asset that stands for a definition's target: named as the definition, found at the target."""
    return Asset(name=name, uri=_uri(place))


def input_asset(read: Input) -> Asset:
    """The asset that stands for what is read of an input."""
    return Asset(name=read.path, uri=f"{_uri(read.path)}?asset=input")


def changes_asset(read: Input) -> Asset:
    """The asset that stands for the changes of an input: watched, it has an event whenever rows may have changed."""
    watcher = AssetWatcher(name="changes", trigger=_trigger(read))
    return Asset(name=f"changes of {read.path}", uri=f"{_uri(read.path)}?asset=changes", watchers=[watcher])


def _trigger(read: Input) -> InputTrigger:
    fields = read.model_dump(mode="json", include={"path", "format"})
    return InputTrigger(read=fields, every=configuration.watch_interval())


def _uri(place: str) -> str:
    return place if "://" in place else f"file://{place}"
