"""What is said of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from airflow_refresh_provider.core.run.forecast import Forecast
from airflow_refresh_provider.core.run.reports import InputLag
from airflow_refresh_provider.core.run.run_detail import PinnedInput
from airflow_refresh_provider.views import formats


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


def kept(one: InputLag, ahead: Forecast | None) -> str:
    """How long the changes of an input can be read."""
    if one.expired:
        return "deleted: the next refresh compares everything"
    lost = ahead is not None and one.name in (lost.name for lost in ahead.lost_before_next)
    until = formats.time(one.kept_until)
    return f"{until}, before the next refresh has read them" if until and lost else until or "all are applied"


def reads(one: PinnedInput) -> str:
    """What a run reads of an input."""
    version = formats.version(one.version)
    return (
        f"changes of ({formats.version(one.after)}, {version}]"
        if one.after is not None
        else f"all of {_version(one.version)}"
    )


def _version(of: int | str) -> str:
    """A Delta version as such, or the start of a digest, which says itself what it is."""
    return f"version {of}" if isinstance(of, int) else formats.version(of)


def zipped(values: Iterable[str], things: Iterable[Named]) -> list[tuple[str, str]]:
    """Each value beside the name of its thing."""
    return [(thing.name, value) for value, thing in zip(values, things, strict=True)]
