"""Assets: what Airflow calls the targets that are kept fresh, and the inputs they are made of.

An asset has the name of its definition, or of the place where an input is. Two assets of one place would shut each
other out, so an input that is the target of another definition has to be given as that definition's asset.
"""

from __future__ import annotations

from airflow.sdk import Asset, AssetWatcher

from airflow_refresh_provider.core.inputs import Input
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.triggers.commits import InputTrigger


def asset_of(name: str, place: str) -> Asset:
    """The asset that stands for a definition's target: named as the definition, found at the target."""
    return Asset(name=name, uri=_uri(place))


def input_asset(read: Input, *, watched: bool = False) -> Asset:
    """The asset that stands for an input. One that is watched has an event whenever rows of it may have changed."""
    watchers = [AssetWatcher(name="changes", trigger=_trigger(read))] if watched else []
    return Asset(name=read.path, uri=_uri(read.path), watchers=watchers)


def _trigger(read: Input) -> InputTrigger:
    fields = read.model_dump(mode="json", include={"path", "format"})
    return InputTrigger(read=fields, every=configuration.watch_interval())


def _uri(place: str) -> str:
    return place if "://" in place else f"file://{place}"
