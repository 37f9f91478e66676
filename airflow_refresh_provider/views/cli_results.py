"""Results that only the command line gives."""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored


class Validated(Stored):
    """A definition that is in order as far as that can be told without a server."""

    file: str
    name: str
    target: str
    definition_hash: str


class ServerReport(Stored):
    """The embedded Spark server: whether it runs, and where to connect."""

    running: bool
    url: str | None
    pid: int | None
    home: str
    log: str
